/**
 * The messages of a scenario, drawn from a fixed seed: the same for every subject and every run.
 */

/** What a body says; with its text about 450 bytes long. */
export interface Job {
  readonly n: number
  /** how long its handler takes; 0: it ends at once */
  readonly ms: number
  readonly text: string
}

export type Work =
  | { readonly kind: "no-op" }
  /** every handler takes so long */
  | { readonly kind: "even"; readonly ms: number }
  /** 90 % take 20 ms, 10 % take 400 ms, in random order */
  | { readonly kind: "uneven" }

const TEXT = "What a job has to know. ".repeat(17)
const SHORT_MS = 20
const LONG_MS = 400

/** Small and good enough to shuffle with; the seed is fixed. */
const generator = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
}

const durations = (work: Work, count: number): ReadonlyArray<number> => {
  if (work.kind === "no-op") return new Array<number>(count).fill(0)
  if (work.kind === "even") return new Array<number>(count).fill(work.ms)
  const all = Array.from({ length: count }, (_, i): number => (i % 10 === 0 ? LONG_MS : SHORT_MS))
  const random = generator(42)
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[all[i], all[j]] = [all[j]!, all[i]!]
  }
  return all
}

export const jobs = (work: Work, count: number): ReadonlyArray<Job> =>
  durations(work, count).map((ms, n) => ({ n, ms, text: TEXT }))

/** All work, spread without a gap over all places: no scheduler can be faster. */
export const idealMs = (work: Work, count: number, concurrency: number): number => {
  const all = durations(work, count)
  return all.reduce((sum, ms) => sum + ms, 0) / concurrency
}
