/** What the page knows: preferences, who is asking, and the live state that the stream of events keeps. */
import { batch, computed, effect, signal } from "@preact/signals"
import type { Advice, Change, Consuming, Counters, Lease, Me, Run, Snapshot } from "../../src/http/View.js"
import type { Word } from "./en.js"

type Language = "en" | "ko"
type Theme = "auto" | "light" | "dark"

const stored = <A extends string>(key: string, otherwise: A) => {
  const value = signal((localStorage.getItem(key) as A | null) ?? otherwise)
  effect(() => localStorage.setItem(key, value.value))
  return value
}

export const language = stored<Language>("language", navigator.language.startsWith("ko") ? "ko" : "en")
export const theme = stored<Theme>("theme", "auto")

const vocabulary = signal<Readonly<Record<Word, string>> | undefined>(undefined)

/** Only the language that is read is loaded; the page is drawn when it is there. */
export const spoken = async (): Promise<void> => {
  vocabulary.value = (await (language.value === "ko" ? import("./ko.js") : import("./en.js"))).words
}

export const speak = (next: Language) => {
  language.value = next
  // it was said in the other language
  said.value = undefined
  void spoken()
}

export const isWord = (word: string): word is Word => vocabulary.value !== undefined && word in vocabulary.value

/** a word, with its places filled */
export const t = (word: Word, ...values: ReadonlyArray<string | number>): string =>
  (vocabulary.value?.[word] ?? "").replace(/\{(\d)\}/g, (_, i: string) => String(values[Number(i)]))

effect(() => {
  document.documentElement.lang = language.value
  document.documentElement.dataset.theme = theme.value
  document.title = t("title")
})

export const route = signal(location.hash.slice(2) || "now")
addEventListener("hashchange", () => (route.value = location.hash.slice(2) || "now"))

export const me = signal<Me | "login" | undefined>(undefined)
export const mayAct = computed(() => typeof me.value === "object" && !me.value.readOnly)

/** what a screen reader says, and the page shows for a while */
export const said = signal<{ readonly text: string; readonly isBad: boolean } | undefined>(undefined)
let unsay: ReturnType<typeof setTimeout> | undefined
export const say = (text: string, isBad = false) => {
  said.value = { text, isBad }
  clearTimeout(unsay)
  unsay = setTimeout(() => (said.value = undefined), 8000)
}

export class Refused extends Error {
  constructor(
    message: string,
    readonly status = 0
  ) {
    super(message)
  }
}

/** Asks the worker; a login that is missing is asked for, everything else that goes wrong is thrown with its sentence. */
export const ask = async <A>(method: "GET" | "POST", path: string, body?: unknown): Promise<A> => {
  let response: Response
  try {
    response = await fetch(`/api${path}`, {
      method,
      ...(body === undefined ? {} : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
    })
  } catch {
    throw new Refused(t("reconnecting"))
  }
  const answer: unknown = await response.json().catch(() => ({}))
  if (response.status === 401 && path !== "/login") me.value = "login"
  if (!response.ok)
    throw new Refused((answer as { message?: string }).message ?? `HTTP ${response.status}`, response.status)
  return answer as A
}

/** the same, and what goes wrong is said */
export const attempt = async (work: () => Promise<void>): Promise<void> => {
  try {
    await work()
  } catch (e) {
    say(e instanceof Error ? e.message : String(e), true)
  }
}

// the live state

export const isConnected = signal(false)
export const consuming = signal<Consuming | undefined>(undefined)
export const leases = signal<ReadonlyMap<string, Lease>>(new Map())
export const runs = signal<ReadonlyArray<Run>>([])
export const counters = signal<Counters | undefined>(undefined)
export const advice = signal<Advice | undefined>(undefined)
export const about = signal<Pick<Snapshot, "queue" | "concurrency" | "boot"> | undefined>(undefined)
export const duplicates = signal(0)
/** grows whenever something happened to a job */
export const jobsChanged = signal(0)
/** the job that something happened to last */
export const lastJob = signal("")

/** also those that a look has in its hands */
const lettersOf = (c: Counters | undefined) =>
  c?.deadLetters === undefined ? undefined : c.deadLetters.visible + c.deadLetters.inFlight
export const letterCount = computed(() => lettersOf(counters.value))

/** how far the worker's clock is from ours */
let skewMs = 0
/** the worker's time, a few times a second while somebody looks */
export const clock = signal(Date.now())

const tickMs = 125
let tick = 0
/** All that changes the page by itself does so here: what came meanwhile is applied at once, and drawn once. */
setInterval(() => {
  tick++
  batch(() => {
    if (waiting.length > 0) applyAll()
    // unheard of, the deliveries stay as they were: whether they are still ours nobody can say
    if (tick % 2 === 0 && document.visibilityState !== "hidden" && isConnected.peek()) clock.value = Date.now() + skewMs
    if (tick % 8 > 0 || ended.length === 0) return
    runs.value = [...runs.value, ...ended].slice(-keepRuns)
    ended = []
  })
}, tickMs)

const keepEndedMs = 60_000
const keepEnded = 100
const keepRuns = 1000

/** runs that ended, since they were drawn last */
let ended: Array<Run> = []

const mostWaiting = 2000
/** changes that came since the last tick */
let waiting: Array<Change> = []

const applyAll = () => {
  const changes = waiting
  waiting = []
  const next = new Map(leases.value)
  for (const change of changes) {
    if (change.kind === "lease") {
      const before = next.get(change.data.id)
      const { endedAt, ranMs, run } = change.data
      if (ranMs !== undefined && run !== undefined && before?.ranMs === undefined) {
        ended.push({ at: endedAt ?? Date.now() + skewMs, ranMs, run })
      }
      // what ended last is at the end
      if (endedAt !== undefined && before?.endedAt === undefined) next.delete(change.data.id)
      next.set(change.data.id, change.data)
    } else if (change.kind === "state") {
      consuming.value = change.data.consuming
      duplicates.value = change.data.duplicates
    } else if (change.kind === "counters") {
      const dead = lettersOf(counters.peek())
      const now = lettersOf(change.data.counters)
      if (dead !== undefined && now !== undefined && now > dead) say(t("newLetters", now), true)
      counters.value = change.data.counters
      advice.value = change.data.advice
    } else {
      lastJob.value = change.data.jobId
      jobsChanged.value++
    }
  }
  const over = [...next.values()].filter(({ endedAt }) => endedAt !== undefined)
  over.forEach(({ endedAt, id }, i) => {
    if (i < over.length - keepEnded || Date.now() + skewMs > endedAt! + keepEndedMs) next.delete(id)
  })
  leases.value = next
}

const begin = (snapshot: Snapshot) => {
  waiting = []
  ended = []
  skewMs = snapshot.at - Date.now()
  batch(() => {
    clock.value = snapshot.at
    about.value = snapshot
    consuming.value = snapshot.consuming
    leases.value = new Map(snapshot.leases.map((lease) => [lease.id, lease]))
    runs.value = snapshot.runs
    duplicates.value = snapshot.duplicates
    advice.value = snapshot.advice
    if (snapshot.counters !== undefined) counters.value = snapshot.counters
    jobsChanged.value++
  })
}

const kinds = ["lease", "state", "counters", "job"] as const

const connect = () => {
  const source = new EventSource("/api/events")
  source.onopen = () => (isConnected.value = true)
  source.onerror = () => {
    isConnected.value = false
    if (source.readyState !== EventSource.CLOSED) return
    // the browser gave up: a worker that starts, or a login that ended
    source.close()
    setTimeout(() => void start(), 2000)
  }
  source.addEventListener("snapshot", (e) => begin(JSON.parse(e.data as string) as Snapshot))
  for (const kind of kinds) {
    source.addEventListener(kind, (e) => {
      const change = { kind, data: JSON.parse(e.data as string) } as Change
      // out of sight, ticks are rare
      if (waiting.push(change) > mostWaiting) batch(applyAll)
    })
  }
}

/** Finds out who is asking, and then listens. */
export const start = async (): Promise<void> => {
  try {
    me.value = await ask<Me>("GET", "/me")
    connect()
  } catch {
    if (me.value !== "login") setTimeout(() => void start(), 2000)
  }
}
