/** A new job, by a form that has the fields of its report. */
import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"
import type { Row } from "./jobList.js"
import { ask, language, Refused, say, t } from "./state.js"
import type { Word } from "./en.js"

export const isSubmitting = signal(false)

const reports = ["flight-delays", "wildlife-strikes", "route-traffic"] as const
type Report = (typeof reports)[number]

const Field = ({
  word,
  name,
  error,
  children
}: {
  word: Word
  name: string
  error: string | undefined
  children: ComponentChildren
}) => (
  <label class="field">
    <span>{t(word)}</span>
    {children}
    {error === undefined ? null : (
      <small class="error" id={`error-${name}`}>
        {error}
      </small>
    )}
  </label>
)

const numbers = new Set(["minDelay", "from", "to", "minCost", "pagesPerSecond"])

/** what was filled in; what was left empty is the worker's to decide */
const jobOf = (data: FormData) => {
  const job: Record<string, unknown> = {}
  for (const [name, value] of data) {
    if (typeof value !== "string" || value === "" || name === "notBefore" || name.startsWith("webhook.")) continue
    job[name] = numbers.has(name) ? Number(value) : value
  }
  const url = data.get("webhook.url")
  const statusUrl = data.get("webhook.statusUrl")
  if (url !== "" && url !== null) {
    job.webhook = {
      url,
      idempotent: data.get("webhook.idempotent") !== null,
      ...(statusUrl === "" ? {} : { statusUrl })
    }
  }
  const notBefore = data.get("notBefore")
  return {
    job,
    ...(typeof notBefore === "string" && notBefore !== "" ? { notBefore: new Date(notBefore).getTime() } : {})
  }
}

/** the sentences of the worker, by field */
const errorsOf = (message: string) => {
  const errors = new Map<string, string>()
  for (const line of message.split("\n")) {
    const found = /^(?:job\.)?([\w.]+): (.*)$/.exec(line)
    errors.set(found?.[1] ?? "", found?.[2] ?? line)
  }
  return errors
}

const Form = () => {
  const box = useRef<HTMLDialogElement>(null)
  const [report, setReport] = useState<Report>("flight-delays")
  const [errors, setErrors] = useState<ReadonlyMap<string, string>>(new Map())
  const [isBusy, setBusy] = useState(false)
  useEffect(() => box.current?.showModal(), [])
  const close = () => (isSubmitting.value = false)

  const submit = async (form: HTMLFormElement) => {
    setBusy(true)
    try {
      const { accepted, job } = await ask<{ accepted: boolean; job: Row }>("POST", "/jobs", jobOf(new FormData(form)))
      say(t(accepted ? "submitted" : "submittedBefore", job.job.jobId))
      close()
      location.hash = `#/jobs/${job.job.jobId}`
    } catch (e) {
      if (!(e instanceof Refused)) throw e
      setErrors(errorsOf(e.message))
    } finally {
      setBusy(false)
    }
  }

  const input = (word: Word, name: string, more: Record<string, unknown> = {}) => (
    <Field word={word} name={name} error={errors.get(name)}>
      <input
        name={name}
        autocomplete="off"
        aria-invalid={errors.has(name)}
        aria-describedby={errors.has(name) ? `error-${name}` : undefined}
        {...more}
      />
    </Field>
  )
  const select = (word: Word, name: string, options: ReadonlyArray<readonly [string, string]>, value?: string) => (
    <Field word={word} name={name} error={errors.get(name)}>
      <select name={name} {...(value === undefined ? {} : { value })}>
        {options.map(([key, label]) => (
          <option key={key} value={key}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  )
  const optional = { placeholder: t("optional") }
  const fields: Record<Report, ComponentChildren> = {
    "flight-delays": (
      <>
        {select(
          "period",
          "period",
          ["2001-01", "2001-02", "2001-03", "2001-Q1"].map((p) => [p, p])
        )}
        {input("airport", "airport", { ...optional, placeholder: "DEN", maxLength: 3 })}
        {input("minDelay", "minDelay", { type: "number", min: -1000, max: 1000, placeholder: "15" })}
      </>
    ),
    "wildlife-strikes": (
      <>
        {input("usState", "state", { placeholder: "TX", maxLength: 2 })}
        {input("from", "from", { type: "number", min: 1990, max: 2002, placeholder: "1990" })}
        {input("to", "to", { type: "number", min: 1990, max: 2002, placeholder: "2002" })}
        {input("minCost", "minCost", { type: "number", min: 0, placeholder: "1" })}
      </>
    ),
    "route-traffic": (
      <>
        {input("airport", "airport", { placeholder: "DEN", maxLength: 3 })}
        {input("usState", "state", { placeholder: "TX", maxLength: 2 })}
      </>
    )
  }
  const rest = [...errors].filter(([name]) => (box.current?.querySelector(`[name="${name}"]`) ?? null) === null)
  return (
    <dialog ref={box} onClose={close} aria-labelledby="submit-title" class="wide">
      <form
        onSubmit={(e) => {
          e.preventDefault()
          void submit(e.currentTarget)
        }}
      >
        <h2 id="submit-title">{t("submit")}</h2>
        <div class="fields">
          <Field word="report" name="report" error={errors.get("report")}>
            <select name="report" value={report} onChange={(e) => setReport(e.currentTarget.value as Report)}>
              {reports.map((r) => (
                <option key={r} value={r}>
                  {t(r)}
                </option>
              ))}
            </select>
          </Field>
          {input("jobId", "jobId", {
            required: true,
            maxLength: 48,
            pattern: "[a-z0-9][a-z0-9\\-]*",
            placeholder: "den-2001-02"
          })}
          {select(
            "format",
            "format",
            ["pdf", "xlsx", "csv", "html"].map((f) => [f, f.toUpperCase()])
          )}
          {select(
            "locale",
            "locale",
            [
              ["en", t("english")],
              ["ko", t("korean")]
            ],
            language.value
          )}
          {fields[report]}
          {input("pace", "pagesPerSecond", { type: "number", min: 0.1, max: 1000, step: "any", ...optional })}
          {input("notBefore", "notBefore", { type: "datetime-local" })}
        </div>
        <fieldset>
          <legend>{t("webhook")}</legend>
          <div class="fields">
            {input("receiver", "webhook.url", { type: "url", placeholder: "https://…" })}
            {input("statusUrl", "webhook.statusUrl", { type: "url", ...optional })}
          </div>
          <label class="check">
            <input type="checkbox" name="webhook.idempotent" /> {t("idempotent")}
          </label>
        </fieldset>
        {rest.length === 0 ? null : (
          <p class="error" role="alert">
            {rest.map(([name, text]) => (name === "" ? text : `${name}: ${text}`)).join(" · ")}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={close}>
            {t("close")}
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            {t("send")}
          </button>
        </div>
      </form>
    </dialog>
  )
}

export const Submit = () => (isSubmitting.value ? <Form /> : null)
