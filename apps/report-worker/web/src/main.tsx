/** The page: its frame, and which part of it is shown. */
import "./style.css"
import { type ComponentChildren, render } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { DeadLetters } from "./DeadLetters.js"
import { JobDetail } from "./JobDetail.js"
import { Jobs } from "./Jobs.js"
import { Log } from "./Log.js"
import { time } from "./format.js"
import { Login } from "./Login.js"
import { Now } from "./Now.js"
import { Review } from "./Review.js"
import {
  about,
  ask,
  attempt,
  clock,
  counters,
  isConnected,
  language,
  letterCount,
  me,
  route,
  said,
  speak,
  spoken,
  start,
  t,
  theme
} from "./state.js"
import type { Word } from "./en.js"

const parts: ReadonlyArray<readonly [string, Word]> = [
  ["now", "now"],
  ["jobs", "jobs"],
  ["dead-letters", "deadLetters"],
  ["review", "review"],
  ["log", "log"]
]

const badge = (part: string) =>
  part === "dead-letters" ? letterCount.value : part === "review" ? counters.value?.undecided : undefined

const Link = ({ part, word }: { part: string; word: Word }) => {
  const n = badge(part) ?? 0
  return (
    <a href={`#/${part}`} aria-current={route.value.split("/")[0] === part ? "page" : undefined}>
      {t(word)}
      {n > 0 ? <span class="badge">{n}</span> : null}
    </a>
  )
}

const shownPart = (): ComponentChildren => {
  const [part, id] = route.value.split("/")
  switch (part) {
    case "jobs":
      return id === undefined ? <Jobs /> : <JobDetail key={id} id={decodeURIComponent(id)} />
    case "dead-letters":
      return <DeadLetters />
    case "review":
      return <Review />
    case "log":
      return <Log />
    default:
      return <Now />
  }
}

const logout = () =>
  attempt(async () => {
    await ask("POST", "/logout")
    location.reload()
  })

/** a slash was pressed elsewhere: the search is focused once it is there */
let isSearchAsked = false

const Page = () => {
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const part = route.value
  useEffect(() => {
    // after a change of place a screen reader goes on at its beginning
    const target = isSearchAsked ? document.getElementById("search") : null
    if (target !== null) target.focus()
    else if (!isFirst.current) main.current?.focus()
    isSearchAsked = false
    isFirst.current = false
  }, [part])
  const who = me.value
  return (
    <>
      <a class="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current?.focus())}>
        {t("skip")}
      </a>
      <header class="top">
        <strong>
          <img src="/icon.svg" alt="" /> {t("title")}
        </strong>
        {typeof who === "object" ? (
          <nav aria-label={t("pages")}>
            {parts.map(([name, word]) => (
              <Link key={name} part={name} word={word} />
            ))}
          </nav>
        ) : (
          <span class="grow" />
        )}
        <div class="tools">
          {typeof who === "object" && who.readOnly ? <span class="chip">{t("readOnly")}</span> : null}
          <button
            type="button"
            lang={language.value === "en" ? "ko" : "en"}
            onClick={() => speak(language.value === "en" ? "ko" : "en")}
          >
            {t("language")}
          </button>
          <select
            aria-label={t("theme")}
            value={theme.value}
            onChange={(e) => (theme.value = e.currentTarget.value as typeof theme.value)}
          >
            {(["auto", "light", "dark"] as const).map((name) => (
              <option key={name} value={name}>
                {t(name)}
              </option>
            ))}
          </select>
          {typeof who === "object" && who.tokens ? (
            <button type="button" onClick={() => void logout()} title={who.name}>
              {t("logout")}
            </button>
          ) : null}
        </div>
      </header>
      {typeof who === "object" && !isConnected.value ? (
        <p class="offline">
          {t("reconnecting")} {about.value === undefined ? "" : t("asOf", time(clock.value))}
        </p>
      ) : null}
      <main id="main" tabIndex={-1} ref={main}>
        {who === "login" ? <Login /> : who === undefined ? null : shownPart()}
      </main>
      <p class={said.value?.isBad === true ? "said bad" : "said"} role="status">
        {said.value?.text}
      </p>
    </>
  )
}

// a slash finds a job, from anywhere
addEventListener("keydown", (e) => {
  const target = e.target as HTMLElement
  if (e.key !== "/" || e.ctrlKey || e.metaKey || target.closest("input, select, textarea, dialog") !== null) return
  e.preventDefault()
  const search = document.getElementById("search")
  isSearchAsked = search === null
  if (search === null) location.hash = "#/jobs"
  else search.focus()
})

const root = document.createElement("div")
root.id = "page"
document.body.append(root)
void spoken().then(() => {
  render(<Page />, root)
  return start()
})
