/** One job: how it is, and all that happened to it. */
import { useEffect, useState } from "preact/hooks"
import type { JobEvent } from "../../src/jobs/JobEvent.js"
import { bytes, duration, full, time } from "./format.js"
import { Chip, Progress, stateWord } from "./Jobs.js"
import type { Row } from "./jobList.js"
import { ask, attempt, clock, isWord, jobsChanged, lastJob, leases, mayAct, say, t } from "./state.js"
import type { Word } from "./en.js"

interface Key {
  readonly state: string
  readonly attempt: number
  readonly error?: string
}

interface Answer {
  readonly job: Row
  readonly events: ReadonlyArray<typeof JobEvent.Encoded>
  readonly report?: Key
  readonly delivery?: Key
}

const eventText = ({ detail, kind }: typeof JobEvent.Encoded): string => {
  if (kind === "step") return t("ev_step", t(detail.step as Word))
  if (kind === "delivery") return t("ev_delivery", t(detail.state as Word))
  return t(`ev_${kind}`)
}

/** what the worker calls it, in the words of the page */
const nameOf = (name: string) => {
  const word = name === "pagesPerSecond" ? "pace" : name === "state" ? "usState" : name
  return isWord(word) ? t(word) : name
}

const restOf = ({ detail, kind }: typeof JobEvent.Encoded): string =>
  Object.entries(detail)
    .filter(([name]) => !(kind === "step" && name === "step") && !(kind === "delivery" && name === "state"))
    .map(([name, value]) =>
      name === "reason"
        ? String(value)
        : name === "notBefore"
          ? `${t("notBefore")}: ${full(Number(value))}`
          : name === "run" || name === "receive"
            ? t(name, Number(value))
            : `${nameOf(name)}: ${value}`
    )
    .join(" · ")

const Fact = ({ name, value }: { name: Word; value: string | number | undefined }) =>
  value === undefined ? null : (
    <div>
      <dt>{t(name)}</dt>
      <dd>{value}</dd>
    </div>
  )

const valueOf = (name: string, value: unknown): string =>
  typeof value === "object" && value !== null
    ? Object.entries(value)
        .filter(([, of]) => of !== false)
        .map(([name, of]) => (name === "url" ? String(of) : of === true ? nameOf(name) : `${nameOf(name)}: ${of}`))
        .join(" · ")
    : name === "locale"
      ? t(value === "ko" ? "korean" : "english")
      : String(value)

export const JobDetail = ({ id }: { id: string }) => {
  const [answer, setAnswer] = useState<Answer>()
  const [problem, setProblem] = useState<string>()
  const isMine = lastJob.value === id
  const changed = isMine ? jobsChanged.value : 0
  const lease = [...leases.value.values()].find((l) => l.jobId === id && l.endedAt === undefined)
  const done = lease?.done

  useEffect(() => {
    const timer = setTimeout(
      () => {
        ask<Answer>("GET", `/jobs/${encodeURIComponent(id)}`).then(setAnswer, (e: Error) => setProblem(e.message))
      },
      answer === undefined ? 0 : 150
    )
    return () => clearTimeout(timer)
  }, [id, changed, done === undefined ? 0 : Math.floor(done)])

  const cancel = () =>
    attempt(async () => {
      await ask("POST", `/jobs/${id}/cancel`)
      say(`${id}: ${t("cancelled")}`)
      setAnswer(await ask<Answer>("GET", `/jobs/${id}`))
    })

  const title = (
    <div class="title">
      <a class="button" href="#/jobs" aria-label={t("back")}>
        ‹
      </a>
      <h1>{id}</h1>
      <p>{answer === undefined ? null : <Chip of={answer.job.state} />}</p>
      {answer !== undefined &&
      mayAct.value &&
      ["scheduled", "accepted", "queued", "running"].includes(answer.job.state) ? (
        <button type="button" class="danger" onClick={() => void cancel()}>
          {t("cancel")}
        </button>
      ) : null}
    </div>
  )
  if (answer === undefined) {
    return (
      <>
        {title}
        {problem === undefined ? null : <p class="card empty">{problem}</p>}
      </>
    )
  }
  const { delivery, events, job: row, report } = answer
  const { result } = row
  const canShow = result !== undefined && /\.(pdf|html)$/.test(result.artifact)
  const ledger = (of: Word, key: Key | undefined) =>
    key === undefined
      ? undefined
      : `${t(of)}: ${isWord(key.state) ? t(key.state) : key.state}, ${t("attempt", key.attempt)}${key.error === undefined ? "" : `: ${key.error}`}`
  return (
    <>
      {title}
      {row.state === "running" || lease !== undefined ? (
        <section class="card live">
          <Progress row={row} />
          {lease === undefined ? null : (
            <span>
              {t("receive", lease.receiveCount)} · {t("beats", lease.beatCount)} ·{" "}
              {t("left", duration(Math.max(0, Math.ceil((lease.deadline - clock.value) / 1000) * 1000)))}
            </span>
          )}
        </section>
      ) : null}
      {result === undefined ? null : (
        <section class="card result" aria-label={t("result")}>
          <div>
            <h2>{t("result")}</h2>
            <p class="about">
              <code>{result.artifact}</code> · {bytes(result.bytes)}
              {result.pages === undefined ? "" : ` · ${t("pagesCount")} ${result.pages}`}
            </p>
          </div>
          {canShow ? (
            <a class="button" href={`/api/jobs/${id}/report?inline=yes`} target="_blank" rel="noopener">
              {t("open")}
            </a>
          ) : null}
          <a class="button primary" href={`/api/jobs/${id}/report`}>
            {t("download")}
          </a>
        </section>
      )}
      <div class="two">
        <section class="card" aria-labelledby="parameters">
          <h2 id="parameters">{t("parameters")}</h2>
          <dl class="facts">
            <Fact name="report" value={t(row.job.report)} />
            {Object.entries(row.job)
              .filter(([name]) => name !== "report" && name !== "jobId")
              .map(([name, value]) => (
                <div key={name}>
                  <dt>{nameOf(name)}</dt>
                  <dd>{valueOf(name, value)}</dd>
                </div>
              ))}
            <Fact name="state" value={t(stateWord(row.state))} />
            <Fact name="reason" value={row.reason} />
            <Fact name="delivery" value={row.delivery === "none" ? undefined : t(row.delivery)} />
            <Fact name="notBefore" value={row.notBefore === undefined ? undefined : full(row.notBefore)} />
            <Fact name="started" value={row.startedAt === undefined ? undefined : full(row.startedAt)} />
            <Fact name="ended" value={row.endedAt === undefined ? undefined : full(row.endedAt)} />
            <Fact name="nextSend" value={row.sendAt === undefined ? undefined : full(row.sendAt)} />
            <Fact name="runs" value={row.runs} />
            <Fact name="ledger" value={ledger("report", report)} />
            <Fact name="ledger" value={ledger("delivery", delivery)} />
          </dl>
        </section>
        <section class="card" aria-labelledby="history">
          <h2 id="history">{t("history")}</h2>
          <ol class="history">
            {events.map((event) => (
              <li key={event.seq} class={event.kind}>
                <time title={full(event.at)}>{time(event.at)}</time>
                <span>
                  <b>{eventText(event)}</b>
                  <small>{restOf(event)}</small>
                </span>
              </li>
            ))}
          </ol>
        </section>
      </div>
    </>
  )
}
