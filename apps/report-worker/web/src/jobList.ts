/** The list of jobs, kept up to date while it is looked at. */
import { batch, effect, signal } from "@preact/signals"
import type { JobRow, JobState } from "../../src/jobs/JobRow.js"
import { ask, jobsChanged, me, route, say } from "./state.js"

/** as it comes over the wire */
export type Row = typeof JobRow.Encoded

const page = 50
const most = 1000
const pauseMs = 1000

export const list = signal<ReadonlyArray<Row> | undefined>(undefined)
export const hasMore = signal(false)
export const text = signal("")
export const state = signal<JobState | "">("")
const limit = signal(page)

export const more = () => (limit.value = Math.min(most, limit.value + 200))

interface Answer {
  readonly jobs: ReadonlyArray<Row>
  readonly next?: string
}

let latest = 0

const load = async () => {
  const mine = ++latest
  const query = new URLSearchParams({ limit: String(limit.value) })
  if (text.value !== "") query.set("text", text.value)
  if (state.value !== "") query.set("state", state.value)
  try {
    const answer = await ask<Answer>("GET", `/jobs?${query}`)
    // a later question may have been answered before
    if (mine !== latest) return
    batch(() => {
      list.value = keep(answer.jobs)
      hasMore.value = answer.next !== undefined && limit.value < most
    })
  } catch (e) {
    if (mine === latest && me.value !== "login") say((e as Error).message, true)
  }
}

/** a row that did not change stays the same object, and is not drawn again */
const keep = (rows: ReadonlyArray<Row>) => {
  const before = new Map(list.peek()?.map((row) => [row.job.jobId, row]))
  return rows.map((row) => {
    const old = before.get(row.job.jobId)
    return old !== undefined && old.updatedAt === row.updatedAt && old.state === row.state && old.sends === row.sends
      ? old
      : row
  })
}

let timer: ReturnType<typeof setTimeout> | undefined
let loadedAt = 0

/** at most once a second, however much happens */
const soon = (isAsked: boolean) => {
  clearTimeout(timer)
  const wait = isAsked ? 120 : Math.max(100, loadedAt + pauseMs - performance.now())
  timer = setTimeout(() => {
    loadedAt = performance.now()
    void load()
  }, wait)
}

const isLookedAt = () => route.value === "jobs" && me.value !== undefined && me.value !== "login"

effect(() => {
  void [text.value, state.value, limit.value]
  if (isLookedAt()) soon(true)
})
effect(() => {
  void jobsChanged.value
  if (isLookedAt()) soon(false)
})
// how far a job is tells no event: those that run are looked at
setInterval(() => {
  if (
    isLookedAt() &&
    document.visibilityState === "visible" &&
    list.peek()?.some((row) => row.state === "running") === true
  )
    soon(false)
}, 2000)
