/** The deliveries in hand as rows on a moving axis: when they came, how long they run, and until when they are ours. */
import { computed, signal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import type { Lease } from "../../src/http/View.js"
import { duration, seconds } from "./format.js"
import { advice, clock, leases, t } from "./state.js"
import type { Word } from "./en.js"

/** of the drawing, in its own pixels */
const width = signal(640)
const rowHeight = 34
/** of the axis; the style has its line there */
const past = 0.62
/** a limit that is further away is not told: it would be in every row */
const limitToldMs = 3_600_000
/** a circle from its left end on */
const dot = "a3.2 3.2 0 1 0 6.4 0a3.2 3.2 0 1 0-6.4 0"

type Health = "held" | "soon" | "lost" | "deleted" | "comes again" | "dead-lettered" | "left to SQS" | "duplicate"

const healthOf = (lease: Lease, now: number): Health => {
  if (lease.lost !== undefined) return "lost"
  if (lease.end !== undefined) return lease.end === "left" ? "left to SQS" : lease.end
  const slot = advice.value?.visibilityMs ?? 30_000
  const isNear = lease.deadline - now < slot / 4
  return lease.deadline <= now ? "lost" : isNear || lease.beatsFailed > 0 ? "soon" : "held"
}

/** each state has a shape of its own */
const shapes: Record<Health, string> = {
  held: "M8 2a6 6 0 1 0 .01 0Z",
  soon: "M8 1.5 15 14H1Z",
  lost: "M3 1 8 6l5-5 2 2-5 5 5 5-2 2-5-5-5 5-2-2 5-5-5-5Z",
  deleted: "M1.5 8.5 4 6l2.5 2.5L12 3l2.5 2.5L6.5 13.5Z",
  "comes again": "M8 2a6 6 0 1 0 6 6h-2.5A3.5 3.5 0 1 1 8 4.5V8l5-4.5L8 0Z",
  "dead-lettered": "M1 2h14L8 15Z",
  "left to SQS": "M2 6.5h12v3H2Z",
  duplicate: "M1 1h9v9H1Zm11 4h3v10H5v-3h7Z"
}

export const Shape = ({ health }: { health: Health }) => (
  <svg class={`shape ${health.replaceAll(" ", "-")}`} viewBox="0 0 16 16" aria-hidden="true">
    <path d={shapes[health]} />
  </svg>
)

export const nameOf = (lease: Lease) => lease.jobId ?? t("unnamed", lease.messageId.slice(0, 8))

const spans = { auto: 0, "1": 60_000, "5": 300_000, "15": 900_000, "60": 3_600_000 }
type Span = keyof typeof spans
const span = signal<Span>("auto")

const shownMs = computed(() => {
  if (span.value !== "auto") return spans[span.value]
  const slot = advice.value?.visibilityMs ?? 30_000
  return Math.min(3_600_000, Math.max(30_000, slot * 3))
})

/** one with room for more rows */
const largeScreen = 3000

/** in hand first, the oldest on top; then what has ended, the newest on top */
const rows = computed(() => {
  const all = [...leases.value.values()]
  const open = all.filter((l) => l.endedAt === undefined).sort((a, b) => a.receivedAt - b.receivedAt)
  const ended = all.filter((l) => l.endedAt !== undefined).sort((a, b) => b.endedAt! - a.endedAt!)
  const most = innerWidth < largeScreen ? 14 : 24
  return [...open, ...ended.slice(0, Math.max(6, most - open.length))]
})

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800].map((s) => s * 1000)

/** the axis at a time; tenths of a pixel are enough */
const axisAt = (now: number) => {
  const ms = shownMs.value
  const begin = now - ms * past
  const x = (at: number) => Math.round(((at - begin) / ms) * width.value * 10) / 10
  return { begin, end: begin + ms, x }
}

const Ticks = () => {
  // wherever it is, it looks the same
  const now = 0
  const { begin, end, x } = axisAt(now)
  const step = steps.find((s) => (s / (end - begin)) * width.value >= 64) ?? 3_600_000
  const ticks: Array<number> = []
  for (let n = Math.ceil((begin - now) / step); n * step < end - now; n++) {
    // one at the edge would be cut
    const at = x(now + n * step)
    if (at > 26 && at < width.value - 26) ticks.push(n * step)
  }
  return (
    <svg class="ticks" viewBox={`0 0 ${width.value} 18`} aria-hidden="true">
      {ticks.map((offset) => (
        <g key={offset}>
          <line x1={x(now + offset)} x2={x(now + offset)} y1={13} y2={18} />
          <text x={x(now + offset)} y={10}>
            {offset === 0 ? t("atNow") : `${offset < 0 ? "−" : "+"}${duration(Math.abs(offset))}`}
          </text>
        </g>
      ))}
    </svg>
  )
}

/** rows that are in sight, by their delivery */
const inSight = new Set<string>()
/** grows when some came into sight */
const cameIntoSight = signal(0)
const observer = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (isIntersecting) inSight.add(target.id)
    else inSight.delete(target.id)
  }
  cameIntoSight.value++
})

/** a delivery as it was at a time */
interface Drawing {
  readonly lease: Lease
  readonly now: number
}

const Row = ({ lease, now }: Drawing) => {
  const box = useRef<HTMLLIElement>(null)
  useEffect(() => {
    const row = box.current!
    observer.observe(row)
    return () => {
      observer.unobserve(row)
      inSight.delete(row.id)
    }
  }, [])
  const { end, x } = axisAt(now)
  const w = width.value
  const health = healthOf(lease, now)
  const isOver = lease.endedAt !== undefined
  const until = lease.endedAt ?? now
  const ran = lease.startedAt === undefined ? 0 : (lease.ranMs ?? until - lease.startedAt)
  const from = Math.max(-2, x(lease.receivedAt))
  const bar = (a: number, b: number, name: string) => {
    const [left, right] = [Math.max(-4, x(a)), Math.min(w + 4, x(b))]
    return right <= left ? null : <rect class={name} x={left} width={right - left} y={11} height={12} rx={2} />
  }
  const label = isOver
    ? t("leaseEnded", nameOf(lease), t(health), duration(now - until), duration(ran))
    : t(
        "leaseLabel",
        nameOf(lease),
        t(health),
        duration(now - lease.receivedAt),
        lease.beatCount,
        seconds(lease.deadline - now),
        duration(lease.limitAt - now)
      )
  return (
    <li class={isOver ? "lease over" : "lease"} id={lease.id} ref={box}>
      <span class="who">
        {lease.jobId === undefined ? <b>{nameOf(lease)}</b> : <a href={`#/jobs/${lease.jobId}`}>{lease.jobId}</a>}
        <small>
          {t("receive", lease.receiveCount)}
          {lease.of !== undefined && !isOver ? ` · ${lease.done}/${lease.of}` : ""}
          {lease.beatCount > 0 ? ` · ${t("beats", lease.beatCount)}` : ""}
        </small>
      </span>
      <svg class="track" role="img" aria-label={label} viewBox={`0 0 ${w} ${rowHeight}`}>
        <line class="base" x1={0} x2={w} y1={17} y2={17} />
        {bar(lease.receivedAt, lease.startedAt ?? until, "wait")}
        {lease.startedAt === undefined ? null : bar(lease.startedAt, until, `run ${health.replaceAll(" ", "-")}`)}
        {isOver ? null : bar(now, lease.deadline, "ahead")}
        <path class="received" d={`M${from} 6v22`} />
        <path class="beat" d={lease.beats.map((at) => `M${x(at) - 3.2} 17${dot}`).join("")} />
        {isOver || lease.deadline > end ? null : (
          <path class="deadline" d={`M${x(lease.deadline)} 4v26M${x(lease.deadline) - 4} 4h8`} />
        )}
        {isOver || lease.limitAt > end ? null : <path class="cap" d={`M${x(lease.limitAt)} 2v30m3-30v30`} />}
      </svg>
      <span class="state">
        <Shape health={health} />
        <span>
          {isOver ? t(health) : t("left", seconds(lease.deadline - now))}
          <small>
            {isOver
              ? lease.confirmed === false
                ? t("unconfirmed")
                : duration(ran)
              : health === "held" && lease.limitAt - now < limitToldMs
                ? t("limitIn", duration(lease.limitAt - now))
                : t(health)}
          </small>
        </span>
      </span>
    </li>
  )
}

/** what is out of sight follows about once a second, not all of it at once */
const followMs = 1000
let drawn: ReadonlyMap<string, Drawing & { readonly until: number }> = new Map()

const Rows = () => {
  const now = clock.value
  void cameIntoSight.value
  drawn = new Map(
    rows.value.map((lease) => {
      const last = drawn.get(lease.id)
      return last !== undefined && last.until > now && last.lease.endedAt === lease.endedAt && !inSight.has(lease.id)
        ? [lease.id, last]
        : [lease.id, { lease, now, until: now + followMs * (0.5 + Math.random()) }]
    })
  )
  return drawn.size === 0 ? (
    <p class="empty">{t("noLeases")}</p>
  ) : (
    <ul>
      {[...drawn].map(([id, { lease, now }]) => (
        // one that ended is another row: one that moved down would move all the others up, one by one
        <Row key={lease.endedAt === undefined ? id : `${id}.`} lease={lease} now={now} />
      ))}
    </ul>
  )
}

const legend: ReadonlyArray<readonly [string, Word]> = [
  ["wait", "legendWait"],
  ["run", "legendRun"],
  ["ahead", "legendLease"],
  ["beat", "legendBeat"],
  ["deadline", "legendDeadline"],
  ["cap", "legendCap"]
]

const Sign = ({ name }: { name: string }) => (
  <svg class="sign" viewBox="0 0 24 16" aria-hidden="true">
    {name === "beat" ? (
      <circle class="beat" cx={12} cy={8} r={4} />
    ) : name === "deadline" ? (
      <path class="deadline" d="M12 1v14M8 1h8" />
    ) : name === "cap" ? (
      <path class="cap" d="M10 0v16m4-16v16" />
    ) : (
      <rect class={name} x={1} y={3} width={22} height={10} rx={2} />
    )}
  </svg>
)

export const Timeline = () => {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const measure = () => {
      const track = box.current?.querySelector(".ticks") ?? null
      // a larger type makes larger rows
      const scale = parseFloat(getComputedStyle(document.documentElement).fontSize) / 15
      if (track !== null) width.value = Math.max(120, Math.round(track.getBoundingClientRect().width / scale))
    }
    const observer = new ResizeObserver(measure)
    observer.observe(box.current!)
    measure()
    return () => observer.disconnect()
  }, [])
  return (
    <section class="card" aria-labelledby="leases">
      <header>
        <div>
          <h2 id="leases">{t("leases")}</h2>
          <p class="about">{t("leasesAbout")}</p>
        </div>
        <label class="inline">
          {t("span")}
          <select value={span.value} onChange={(e) => (span.value = e.currentTarget.value as Span)}>
            {(Object.keys(spans) as Array<Span>).map((key) => (
              <option key={key} value={key}>
                {key === "auto" ? t("spanAuto") : duration(spans[key])}
              </option>
            ))}
          </select>
        </label>
      </header>
      <svg class="defs" aria-hidden="true">
        <defs>
          <pattern id="stripes" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="6" height="6" class="stripe-back" />
            <rect width="2.5" height="6" class="stripe" />
          </pattern>
        </defs>
      </svg>
      <div class="timeline" ref={box}>
        <div class="lease head">
          <span />
          <Ticks />
          <span />
        </div>
        <div class="now-line" aria-hidden="true" />
        <Rows />
      </div>
      <ul class="legend">
        {legend.map(([name, word]) => (
          <li key={name}>
            <Sign name={name} />
            {t(word)}
          </li>
        ))}
      </ul>
    </section>
  )
}
