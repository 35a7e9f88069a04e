/** The books of one trial: what became of each job, by what its handler saw. */
import { hash } from "effect/Hash"
import { PCGRandom } from "effect/Utils"

/** Random numbers of their own for each purpose, so that one does not shift the other. */
export const stream = (seed: number | string, purpose: string): (() => number) => {
  const random = new PCGRandom(hash(`${seed}/${purpose}`))
  return () => random.number()
}

/** One number of 0 to 1 for a job's n-th run: the same whatever else is drawn. */
export const drawFor = (seed: number, job: number, run: number): number => {
  let x = (seed ^ Math.imul(job + 1, 0x9e3779b1) ^ Math.imul(run, 0x85ebca6b)) >>> 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return ((x ^ (x >>> 15)) >>> 0) / 2 ** 32
}

/** A job as it is sent: the same in every trial of a seed. */
export interface Job {
  readonly atMs: number
  readonly runMs: number
}

interface State {
  sentAt: number
  /** ends of good runs after the first change nothing */
  doneAt: number
  runs: number
  /** runs that go on now */
  live: number
  /** when its worker died, until somebody takes it up; -1: it did not */
  lostAt: number
  duplicated: boolean
}

export class Books {
  readonly states: Array<State> = []
  done = 0
  runs = 0
  duplicateRuns = 0
  duplicatedMessages = 0
  failures = 0
  cut = 0
  crashes = 0
  busyMs = 0
  readonly recoveriesMs: Array<number> = []
  /** jobs that each worker runs now, so that its death ends them */
  private readonly hands = new Map<number, Map<number, number>>()

  sent(at: number): void {
    this.states.push({ sentAt: at, doneAt: -1, runs: 0, live: 0, lostAt: -1, duplicated: false })
  }

  /** Answers the number of this run of the job, from 1. */
  started(worker: number, job: number, at: number): number {
    const state = this.states[job]!
    this.runs++
    state.runs++
    if (state.live > 0 || state.doneAt >= 0) {
      this.duplicateRuns++
      if (!state.duplicated) this.duplicatedMessages++
      state.duplicated = true
    }
    if (state.lostAt >= 0) {
      this.recoveriesMs.push(at - state.lostAt)
      state.lostAt = -1
    }
    state.live++
    let hand = this.hands.get(worker)
    if (hand === undefined) this.hands.set(worker, (hand = new Map()))
    hand.set(job, at)
    return state.runs
  }

  ended(worker: number, job: number, startedAt: number, at: number, outcome: "success" | "failure" | "cut"): void {
    const state = this.states[job]!
    state.live--
    this.hands.get(worker)?.delete(job)
    this.busyMs += at - startedAt
    if (outcome === "failure") this.failures++
    if (outcome === "cut") this.cut++
    if (outcome === "success" && state.doneAt < 0) {
      state.doneAt = at
      this.done++
    }
  }

  crashed(worker: number, at: number): void {
    this.crashes++
    for (const [job, startedAt] of this.hands.get(worker) ?? []) {
      const state = this.states[job]!
      state.live--
      this.busyMs += at - startedAt
      // another may have it, or has done it: then nothing was lost
      if (state.live === 0 && state.doneAt < 0) state.lostAt = at
    }
    this.hands.delete(worker)
  }

  /** ms from send to done, ascending */
  latencies(): ReadonlyArray<number> {
    return this.states
      .filter(({ doneAt }) => doneAt >= 0)
      .map(({ doneAt, sentAt }) => doneAt - sentAt)
      .sort((a, b) => a - b)
  }
}
