/** Who did what, newest first. */
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import type { Action } from "../../src/http/View.js"
import { full, time } from "./format.js"
import { ask, attempt, isWord, t } from "./state.js"

const actions = signal<ReadonlyArray<Action> | undefined>(undefined)
const next = signal<number | undefined>(undefined)

const load = (before?: number) =>
  attempt(async () => {
    const answer = await ask<{ actions: ReadonlyArray<Action>; next?: number }>(
      "GET",
      `/actions${before === undefined ? "" : `?before=${before}`}`
    )
    actions.value = before === undefined ? answer.actions : [...(actions.value ?? []), ...answer.actions]
    next.value = answer.next
  })

const wordOf = (action: string) => {
  const word = `act_${action}`
  return isWord(word) ? t(word) : action
}

const valueOf = (name: string, value: string | number | boolean) => {
  const text = String(value)
  if (name === "verdict") return t(text === "happened" ? "happened" : "didNotHappen")
  return (name === "report" || name === "state") && isWord(text) ? t(text) : text
}

/** what the worker notes beside an act, in the words of the page */
const detailOf = ([name, value]: readonly [string, string | number | boolean]) => {
  const word = name === "note" ? "logNote" : name === "discarded" ? "act_discard" : name
  return `${isWord(word) ? t(word) : name}: ${valueOf(name, value)}`
}

export const Log = () => {
  useEffect(() => void load(), [])
  return (
    <>
      <div class="title">
        <h1>{t("log")}</h1>
      </div>
      {actions.value === undefined ? null : actions.value.length === 0 ? (
        <p class="card empty">{t("noActions")}</p>
      ) : (
        <section class="card">
          <table class="stack">
            <caption class="hidden">{t("log")}</caption>
            <thead>
              <tr>
                <th scope="col">{t("when")}</th>
                <th scope="col">{t("who")}</th>
                <th scope="col">{t("what")}</th>
                <th scope="col">{t("about")}</th>
                <th scope="col">{t("details")}</th>
              </tr>
            </thead>
            <tbody>
              {actions.value.map((a) => (
                <tr key={a.seq}>
                  <th scope="row">
                    <time title={full(a.at)}>{time(a.at)}</time>
                  </th>
                  <td data-name={t("who")} class="short">
                    {a.actor}
                  </td>
                  <td data-name={t("what")} class="short">
                    {wordOf(a.action)}
                  </td>
                  <td data-name={t("about")}>
                    <code>{a.subject}</code>
                  </td>
                  <td data-name={t("details")}>{Object.entries(a.detail).map(detailOf).join(" · ")}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {next.value === undefined ? null : (
            <button type="button" onClick={() => void load(next.value)}>
              {t("more")}
            </button>
          )}
        </section>
      )}
    </>
  )
}
