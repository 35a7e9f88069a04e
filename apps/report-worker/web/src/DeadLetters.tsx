/** The dead-letter queue, looked into when somebody asks for it, since each look costs a receive. */
import { signal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { Dialog, Note } from "./Dialog.js"
import { bytes, duration, full, time } from "./format.js"
import { ask, attempt, counters, mayAct, say, t } from "./state.js"
import type { DeadLetterDetail, DeadLetters as Letters, Discarded, Redriven } from "../../src/http/View.js"

const letters = signal<Letters | undefined>(undefined)
const isLooking = signal(false)
const chosen = signal<ReadonlySet<string>>(new Set())
const shown = signal<DeadLetterDetail | undefined>(undefined)
const asking = signal<"redrive" | "discard" | undefined>(undefined)

/** as many as the worker takes at a time */
const most = 100

const look = (isQuiet = false) =>
  attempt(async () => {
    isLooking.value = true
    try {
      const found = await ask<Letters>("GET", "/dead-letters")
      letters.value = found
      const there = new Set(found.messages.map(({ messageId }) => messageId))
      chosen.value = new Set([...chosen.value].filter((id) => there.has(id)))
      if (!isQuiet) say(found.messages.length === 0 ? t("noLetters") : t("lettersFound", found.messages.length))
    } finally {
      isLooking.value = false
    }
  })

const choose = (ids: ReadonlyArray<string>, isChosen: boolean) => {
  const next = new Set(chosen.value)
  for (const id of ids) {
    if (isChosen) next.add(id)
    else next.delete(id)
  }
  chosen.value = next
}

const show = (messageId: string) =>
  attempt(async () => {
    shown.value = await ask<DeadLetterDetail>("GET", `/dead-letters/${encodeURIComponent(messageId)}`)
  })

const done = (text: string, isBad: boolean) => {
  say(text, isBad)
  chosen.value = new Set()
  void look(true)
}

const redrive = async (data: FormData) => {
  const result = await ask<Redriven>("POST", "/dead-letters/redrive", {
    messageIds: [...chosen.value],
    atMost: Number(data.get("atMost")),
    perSecond: Number(data.get("perSecond"))
  })
  const why = result.reasons.filter(({ outcome }) => outcome !== "sent").map(({ why }) => why)
  const stopped = result.stopped === undefined ? [] : [result.stopped]
  const text = t("redriven", result.sent, result.deleted, result.kept, result.failed + result.unknown)
  done([text, ...new Set([...why, ...stopped])].join(" "), result.failed + result.unknown > 0)
}

const discard = async (data: FormData) => {
  const body = { messageIds: [...chosen.value], reason: data.get("note") }
  const result = await ask<Discarded>("POST", "/dead-letters/discard", body)
  done(t("discarded", result.discarded, result.keptIn), result.failed > 0)
}

const pretty = (body: string) => {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}

/** over the list, which may be long */
const Detail = ({ letter }: { letter: DeadLetterDetail }) => {
  const box = useRef<HTMLDialogElement>(null)
  const close = () => (shown.value = undefined)
  useEffect(() => {
    box.current?.showModal()
    return close
  }, [])
  return (
    <dialog class="wide" ref={box} onClose={close} aria-labelledby="letter">
      <header>
        <h2 id="letter">
          {t("message")} <code>{letter.messageId}</code>
        </h2>
        <button type="button" onClick={close}>
          {t("close")}
        </button>
      </header>
      <dl class="facts">
        {letter.jobId === undefined ? null : (
          <div>
            <dt>{t("job")}</dt>
            <dd>
              <a href={`#/jobs/${letter.jobId}`}>{letter.jobId}</a>
            </dd>
          </div>
        )}
        <div>
          <dt>{t("reason")}</dt>
          <dd>{letter.reason ?? "–"}</dd>
        </div>
      </dl>
      <h3>{t("body")}</h3>
      <pre tabIndex={0}>{pretty(letter.body)}</pre>
      {Object.keys(letter.attributes).length === 0 ? null : (
        <>
          <h3>{t("attributes")}</h3>
          <dl class="facts raw">
            {Object.entries(letter.attributes).map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{value}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <h3>{t("history")}</h3>
      <ol class="history">
        {letter.history.map(({ at, what }, i) => (
          <li key={i}>
            <time title={at === undefined ? "" : full(at)}>{at === undefined ? "" : time(at)}</time>
            <span>{what}</span>
          </li>
        ))}
      </ol>
    </dialog>
  )
}

type Group = Letters["groups"][number]

const GroupOf = ({ group, all }: { group: Group; all: Letters }) => {
  const ids = new Set(group.messageIds)
  const lines = all.messages.filter(({ messageId }) => ids.has(messageId))
  // a reason that all have stands above them
  const isSame = lines.every(({ reason }) => reason === group.reason)
  const isWhole = group.messageIds.every((id) => chosen.value.has(id))
  return (
    <details class="card group" open={all.groups.length <= 3}>
      <summary>
        <b>{group.reason}</b>
        <span class="chip failed">{group.count}</span>
      </summary>
      {mayAct.value ? (
        <label class="check">
          <input
            type="checkbox"
            checked={isWhole}
            onChange={(e) => choose(group.messageIds, e.currentTarget.checked)}
          />
          {t("select", group.count)}
        </label>
      ) : null}
      <table class="stack">
        <caption class="hidden">{group.reason}</caption>
        <thead>
          <tr>
            <th scope="col">{t("message")}</th>
            {isSame ? null : <th scope="col">{t("reason")}</th>}
            <th scope="col" class="number">
              {t("age")}
            </th>
            <th scope="col" class="number">
              {t("receives")}
            </th>
            <th scope="col" class="number">
              {t("redrives")}
            </th>
            <th scope="col" class="number">
              {t("size")}
            </th>
            <th scope="col">
              <span class="hidden">{t("show")}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <tr key={line.messageId}>
              <th scope="row">
                {mayAct.value ? (
                  <label class="check">
                    <input
                      type="checkbox"
                      checked={chosen.value.has(line.messageId)}
                      onChange={(e) => choose([line.messageId], e.currentTarget.checked)}
                    />
                    <code>{line.messageId}</code>
                  </label>
                ) : (
                  <code>{line.messageId}</code>
                )}
              </th>
              {isSame ? null : <td data-name={t("reason")}>{line.reason ?? "–"}</td>}
              <td data-name={t("age")} class="number">
                {line.ageMs === undefined ? "–" : duration(line.ageMs)}
              </td>
              <td data-name={t("receives")} class="number">
                {line.receiveCount}
              </td>
              <td data-name={t("redrives")} class="number">
                {line.redrives}
              </td>
              <td data-name={t("size")} class="number">
                {bytes(line.bytes)}
              </td>
              <td class="end">
                <button
                  type="button"
                  onClick={() => void show(line.messageId)}
                  aria-label={`${t("show")}: ${line.messageId}`}
                >
                  {t("show")}
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  )
}

/** few at first: whether they succeed now is still to be seen */
const Amount = ({ name, most }: { name: "atMost" | "perSecond"; most: number }) => (
  <label class="field">
    <span>{t(name)}</span>
    <input type="number" name={name} required min={1} max={most} defaultValue={Math.min(10, most)} />
  </label>
)

export const DeadLetters = () => {
  const all = letters.value
  const n = chosen.value.size
  const isTooMany = n > most
  const close = () => (asking.value = undefined)
  return (
    <>
      <div class="title">
        <h1>{t("deadLetters")}</h1>
        <p>{counters.value?.deadLetters === undefined ? null : <code>{counters.value.deadLetters.name}</code>}</p>
        <button
          type="button"
          class={all === undefined ? "primary" : ""}
          disabled={isLooking.value}
          onClick={() => void look()}
        >
          {t(isLooking.value ? "looking" : all === undefined ? "look" : "lookAgain")}
        </button>
      </div>
      <p class="about">{t("lookAbout")}</p>
      {all === undefined ? null : (
        <>
          {all.messages.length === 0 ? <p class="card empty">{t("noLetters")}</p> : null}
          {all.complete ? null : <p class="hint">{t("notAll")}</p>}
          {all.notes.map((note) => (
            <p key={note} class="about">
              {note}
            </p>
          ))}
          {mayAct.value && all.messages.length > 0 ? (
            <div class="bar" role="group" aria-label={t("selected", n)}>
              <span>{isTooMany ? t("tooMany") : t("selected", n)}</span>
              <button
                type="button"
                class="primary"
                disabled={n === 0 || isTooMany}
                onClick={() => (asking.value = "redrive")}
              >
                {t("redrive")}
              </button>
              <button
                type="button"
                class="danger"
                disabled={n === 0 || isTooMany}
                onClick={() => (asking.value = "discard")}
              >
                {t("discard")}
              </button>
            </div>
          ) : null}
          {all.groups.map((group) => (
            <GroupOf key={`${group.source} ${group.reason}`} group={group} all={all} />
          ))}
        </>
      )}
      {shown.value === undefined ? null : <Detail letter={shown.value} />}
      {asking.value === "redrive" ? (
        <Dialog title={t("redriveAsk", n)} action="redrive" onClose={close} onConfirm={redrive}>
          <p>{t("redriveAbout")}</p>
          <Amount name="atMost" most={n} />
          <Amount name="perSecond" most={50} />
        </Dialog>
      ) : null}
      {asking.value === "discard" ? (
        <Dialog title={t("discardAsk", n)} action="discard" isDanger onClose={close} onConfirm={discard}>
          <p>{t("discardAbout")}</p>
          <Note word="why" />
        </Dialog>
      ) : null}
    </>
  )
}
