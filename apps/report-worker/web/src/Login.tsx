/** A token is asked for. It goes to the worker once, and is kept nowhere in the page. */
import { useState } from "preact/hooks"
import { ask, isWord, me, Refused, start, t } from "./state.js"

export const Login = () => {
  const [problem, setProblem] = useState("")
  const submit = async (form: HTMLFormElement) => {
    const token = new FormData(form).get("token")
    form.reset()
    try {
      await ask("POST", "/login", { token })
    } catch (e) {
      setProblem(e instanceof Refused && e.status === 401 ? "tokenUnknown" : (e as Error).message)
      return
    }
    me.value = undefined
    await start()
  }
  return (
    <form
      class="card login"
      onSubmit={(e) => {
        e.preventDefault()
        void submit(e.currentTarget)
      }}
    >
      <h1>{t("login")}</h1>
      <p class="about">{t("loginAbout")}</p>
      <label class="field">
        <span>{t("token")}</span>
        <input type="password" name="token" required autocomplete="current-password" maxLength={500} />
      </label>
      {problem === "" ? null : (
        <p class="error" role="alert">
          {isWord(problem) ? t(problem) : problem}
        </p>
      )}
      <button type="submit" class="primary">
        {t("login")}
      </button>
    </form>
  )
}
