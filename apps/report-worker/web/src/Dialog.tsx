/** A question that has to be answered first. The browser keeps the focus inside, and Escape closes it. */
import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import { t } from "./state.js"
import type { Word } from "./en.js"

export const Dialog = (o: {
  title: string
  onClose: () => void
  children: ComponentChildren
  action: Word
  isDanger?: boolean
  /** what is done; closes unless it throws */
  onConfirm: (data: FormData) => Promise<void>
}) => {
  const box = useRef<HTMLDialogElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  useEffect(() => box.current?.showModal(), [])
  const submit = (e: SubmitEvent) => {
    e.preventDefault()
    const data = new FormData(e.currentTarget as HTMLFormElement)
    setBusy(true)
    // what goes wrong is said here: what is said behind a dialog is dimmed
    void o
      .onConfirm(data)
      .then(o.onClose, (e: Error) => setProblem(e.message))
      .finally(() => setBusy(false))
  }
  return (
    <dialog ref={box} onClose={o.onClose} aria-labelledby="dialog-title">
      <form onSubmit={submit}>
        <h2 id="dialog-title">{o.title}</h2>
        {o.children}
        {problem === "" ? null : (
          <p class="error" role="alert">
            {problem}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={o.onClose}>
            {t("close")}
          </button>
          <button type="submit" class={o.isDanger === true ? "primary danger" : "primary"} disabled={isBusy}>
            {t(o.action)}
          </button>
        </div>
      </form>
    </dialog>
  )
}

/** a few words for the log */
export const Note = ({ word }: { word: Word }) => (
  <label class="field">
    <span>{t(word)}</span>
    <input name="note" required maxLength={500} autocomplete="off" />
  </label>
)
