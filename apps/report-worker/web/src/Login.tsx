/** A token is asked for. It goes to the worker once, and is kept nowhere in the page. */
import { ask, attempt, me, start, t } from "./state.js"

export const Login = () => {
  const submit = (form: HTMLFormElement) =>
    attempt(async () => {
      const token = new FormData(form).get("token")
      form.reset()
      await ask("POST", "/login", { token })
      me.value = undefined
      await start()
    })
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
      <button type="submit" class="primary">
        {t("login")}
      </button>
    </form>
  )
}
