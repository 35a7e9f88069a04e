/** How the worker stands: counters, deliveries in hand, throughput, run times. */
import { computed } from "@preact/signals"
import type { ComponentChildren } from "preact"
import type { Advice, Consuming } from "../../src/http/View.js"
import { duration, integer } from "./format.js"
import {
  about,
  advice,
  ask,
  attempt,
  clock,
  consuming,
  counters,
  duplicates,
  isConnected,
  leases,
  letterCount,
  mayAct,
  runs,
  t
} from "./state.js"
import { Timeline } from "./Timeline.js"

const Tile = ({
  name,
  children,
  href,
  isBad
}: {
  name: string
  children: ComponentChildren
  href?: string
  isBad?: boolean
}) => (
  <div class={isBad === true ? "tile bad" : "tile"}>
    <dt>{href === undefined ? name : <a href={href}>{name}</a>}</dt>
    <dd>{children}</dd>
  </div>
)

const known = (n: number | undefined) => (n === undefined ? "–" : integer(n))

/** one that has run is in hand until its message is settled */
const running = computed(
  () =>
    [...leases.value.values()].filter(
      ({ endedAt, ranMs, startedAt }) => startedAt !== undefined && (endedAt ?? ranMs) === undefined
    ).length
)

const Counters = () => {
  const c = counters.value
  const age = c?.oldestAt === undefined ? undefined : clock.value - c.oldestAt
  return (
    <dl class="tiles">
      <Tile name={t("runningHere")}>
        {running.value} <small>{t("ofPlaces", about.value?.concurrency ?? "–")}</small>
      </Tile>
      <Tile name={t("inQueue")}>{known(c?.queue?.visible)}</Tile>
      <Tile name={t("inFlight")}>{known(c?.queue?.inFlight)}</Tile>
      <Tile name={t("delayed")}>{known(c?.queue?.delayed)}</Tile>
      <Tile name={t("oldest")}>{age === undefined ? "–" : duration(Math.max(0, Math.floor(age / 1000) * 1000))}</Tile>
      <Tile name={t("deadLetters")} href="#/dead-letters" isBad={(letterCount.value ?? 0) > 0}>
        {known(letterCount.value)}
      </Tile>
      <Tile name={t("undecided")} href="#/review" isBad={(c?.undecided ?? 0) > 0}>
        {known(c?.undecided)}
      </Tile>
      <Tile name={t("ev_duplicate")}>{integer(duplicates.value)}</Tile>
    </dl>
  )
}

const minutes = 30

const minute = computed(() => Math.floor(clock.value / 60_000))

/** runs that ended, by minute */
const perMinute = computed(() => {
  const first = minute.value - minutes + 1
  const all = Array.from({ length: minutes }, (_, i) => ({ minute: first + i, good: 0, bad: 0 }))
  for (const { at, run } of runs.value) {
    const of = all[Math.floor(at / 60_000) - first]
    if (of !== undefined) of[run === "success" ? "good" : "bad"]++
  }
  return all
})

const Throughput = () => {
  const all = perMinute.value
  const most = Math.max(1, ...all.map(({ bad, good }) => good + bad))
  const total = all.reduce((n, { good }) => n + good, 0)
  const failed = all.reduce((n, { bad }) => n + bad, 0)
  const w = 600 / minutes
  return (
    <section class="card" aria-labelledby="throughput">
      <h2 id="throughput">{t("throughput")}</h2>
      {runs.value.length === 0 ? (
        <p class="empty">{t("throughputNone")}</p>
      ) : (
        <>
          <svg
            class="chart"
            role="img"
            viewBox="0 0 600 130"
            preserveAspectRatio="none"
            aria-label={`${t("throughput")}: ${t("success")} ${total}, ${t("failure")} ${failed}`}
          >
            {all.map(({ bad, good, minute }, i) => (
              <g key={minute}>
                <rect
                  class="good"
                  x={i * w + 1.5}
                  width={w - 3}
                  y={126 - (good / most) * 116}
                  height={(good / most) * 116}
                />
                <rect
                  class="bad"
                  x={i * w + 1.5}
                  width={w - 3}
                  y={126 - ((good + bad) / most) * 116}
                  height={(bad / most) * 116}
                />
              </g>
            ))}
            <line class="base" x1={0} x2={600} y1={126.5} y2={126.5} />
          </svg>
          <div class="axis">
            <span>−{duration(minutes * 60_000)}</span>
            <span>{t("peak", most)}</span>
            <span>{t("atNow")}</span>
          </div>
          <p class="about">
            <i class="key good" /> {t("success")} {total} <i class="key bad" /> {t("failure")} {failed}
          </p>
        </>
      )}
    </section>
  )
}

const hintText = ({ hint, p99Ms, visibilityMs }: Advice) => {
  if (hint === undefined) return undefined
  const word = {
    "runs outlive the slot": "hintSlot",
    "beats nearly always": "hintBeats",
    "a dead worker is waited for too long": "hintWait"
  } as const
  const beat = hint.heartbeatMs === undefined ? t("noHeartbeat") : duration(hint.heartbeatMs)
  return `${t(word[hint.why], duration(p99Ms ?? 0), duration(visibilityMs))} ${t("hintTake", duration(hint.visibilityMs), beat)}`
}

/** what is told below them */
const timeSteps = [10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000]

/** run times, in steps that grow: a second and an hour are both to be seen */
const RunTimes = () => {
  const a = advice.value
  const times = runs.value.filter(({ run }) => run === "success").map(({ ranMs }) => Math.max(1, ranMs))
  if (a === undefined || times.length === 0) return null
  const low = Math.min(...times, a.heartbeatMs ?? a.visibilityMs) / 1.5
  const high = Math.max(...times, a.visibilityMs) * 1.5
  const x = (ms: number) => (Math.log(ms / low) / Math.log(high / low)) * 600
  const bins = 36
  const counts = Array.from({ length: bins }, () => 0)
  for (const ms of times) counts[Math.min(bins - 1, Math.max(0, Math.floor((x(ms) / 600) * bins)))]!++
  const most = Math.max(...counts)
  const hint = hintText(a)
  const sentence = t(
    "runTimesAbout",
    times.length,
    duration(a.p50Ms ?? 0),
    duration(a.p99Ms ?? 0),
    duration(a.maxMs ?? 0)
  )
  const visibility = t("visibility", duration(a.visibilityMs))
  return (
    <section class="card" aria-labelledby="run-times">
      <h2 id="run-times">{t("runTimes")}</h2>
      <p class="about marks">
        {a.heartbeatMs === undefined ? null : <span class="beat-key">{t("heartbeat", duration(a.heartbeatMs))}</span>}
        <span class="slot-key">{visibility}</span>
      </p>
      <svg
        class="chart"
        role="img"
        viewBox="0 0 600 130"
        preserveAspectRatio="none"
        aria-label={`${sentence}. ${visibility}`}
      >
        {counts.map((n, i) => (
          <rect
            key={i}
            class={x(a.visibilityMs) <= (i * 600) / bins ? "long" : "good"}
            x={(i * 600) / bins + 1}
            width={600 / bins - 2}
            y={126 - (n / most) * 100}
            height={(n / most) * 100}
          />
        ))}
        <line class="base" x1={0} x2={600} y1={126.5} y2={126.5} />
        {a.heartbeatMs === undefined ? null : <path class="beat-at" d={`M${x(a.heartbeatMs)} 0v127`} />}
        <path class="slot-at" d={`M${x(a.visibilityMs)} 0v127`} />
      </svg>
      <div class="axis steps">
        {timeSteps
          .map((ms) => ({ ms, at: x(ms) / 600 }))
          .filter(({ at }) => at > 0.04 && at < 0.96)
          .map(({ at, ms }) => (
            <span key={ms} style={{ left: `${at * 100}%` }}>
              {duration(ms)}
            </span>
          ))}
      </div>
      <p class="about">{sentence}</p>
      {hint === undefined ? null : <p class="hint">{hint}</p>}
    </section>
  )
}

const Switch = () => {
  const state = consuming.value?.state
  const isPaused = state === "paused"
  const canSwitch = isConnected.value && (isPaused || state === "receiving" || state === "receive fails")
  const flip = () =>
    attempt(async () => {
      consuming.value = await ask<Consuming>("POST", "/consuming", { paused: !isPaused })
    })
  return mayAct.value ? (
    <button type="button" disabled={!canSwitch} onClick={() => void flip()} title={t("pauseAbout")}>
      {t(isPaused ? "resume" : "pause")}
    </button>
  ) : null
}

export const Now = () => (
  <>
    <div class="title">
      <h1>{t("now")}</h1>
      <p>
        {about.value === undefined ? null : <code>{about.value.queue}</code>}
        {consuming.value === undefined ? null : isConnected.value ? (
          <span class={`chip ${consuming.value.state.replaceAll(" ", "-")}`}>{t(consuming.value.state)}</span>
        ) : (
          <span class="chip">?</span>
        )}
        {consuming.value?.detail === undefined ? null : <span class="about">{consuming.value.detail}</span>}
      </p>
      <Switch />
    </div>
    <Counters />
    <div class="now">
      <Timeline />
      <div class="two">
        <Throughput />
        <RunTimes />
      </div>
    </div>
  </>
)
