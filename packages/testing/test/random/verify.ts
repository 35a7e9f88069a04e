/** What must hold of a random run: the published invariants, and what events, reports and the end of it all have to say. */
import { DrainIncomplete } from "@effect-sqs/core/Drain"
import { Invariants, JournalQuery, Timeline } from "@effect-sqs/testing"
import { Cause, Chunk, Exit } from "effect"
import { mostPrefetched, type Played, type Worked } from "./play.js"
import type { RedeliveryName, Scene, WorkerScene } from "./scene.js"

export interface Broken {
  readonly name: string
  readonly messageId: string | undefined
  readonly text: string
}

const sum = (ns: ReadonlyArray<number>) => ns.reduce((a, b) => a + b, 0)

const stalledMs = (w: WorkerScene) => sum(w.stalls.map(({ ms }) => ms))

const deletes = (name: RedeliveryName) => name === "delete"
/** of the default: a standard queue's never ends; where there is no queue for dead letters, they are left */
const leaves = (scene: Scene) => (name: RedeliveryName) =>
  name === "leave" ||
  name === "dies" ||
  (scene.maxReceiveCount === undefined && ["deadLetter", "byTag", "backoff"].includes(name))

const isClean = (exit: Exit.Exit<never, unknown>) => Exit.isFailure(exit) && Cause.isInterruptedOnly(exit.cause)

const isIncomplete = (exit: Exit.Exit<never, unknown>) =>
  Exit.isFailure(exit) && Chunk.some(Cause.defects(exit.cause), (d) => d instanceof DrainIncomplete)

const common = (played: Played, workers: ReadonlyArray<WorkerScene>): Invariants.Expectations => {
  const { dead, queue, scene, undecodable } = played
  const policies = workers.flatMap((w) => [w.redelivery, w.undecodable])
  const ends = scene.jobs.ending > 0
  const limits = workers.flatMap((w) => w.limitS ?? [])
  return {
    queue,
    kind: scene.kind,
    deadLetterQueue: dead,
    policyDeletes: ends || policies.some(deletes),
    leaves: ends || policies.some(leaves(scene)),
    onLeaseLost: workers.some((w) => w.onLeaseLost === "continue") ? "continue" : "interrupt",
    graceMs: scene.jobs.ignoresMs + Math.max(...workers.map(stalledMs)),
    mayRunOut: workers.some((w) => w.limitS !== undefined || w.stalls.length > 0 || w.heartbeatMs === "off"),
    stallMs: Math.max(...workers.map(stalledMs)),
    limitMs: limits.length === 0 ? undefined : Math.min(...limits) * 1000,
    clockJumps: workers.some((w) => w.jumps.length > 0),
    neverRuns: (id) => undecodable.has(id)
  }
}

/** Deliveries whose end was asked of SQS, and confirmed. */
const ended = (events: Worked["events"]): ReadonlySet<string> =>
  new Set(
    events.flatMap((e) =>
      e._tag === "DeliverySettled" && e.settled.confirmed && e.settled.asked._tag !== "Leave" ? [e.receiptHandle] : []
    )
  )

const ofWorker = (played: Played, { events, exit, killed, stoppedAt, worker }: Worked): Invariants.Expectations => {
  const told = ended(events)
  return {
    ...common(played, [worker]),
    process: worker.name,
    isSettled: (handle) => told.has(handle),
    concurrency: worker.concurrency,
    prefetch: mostPrefetched(played.scene.kind, worker),
    drained: !killed && isClean(exit),
    stoppedAt
  }
}

/** Ends only when told to, and then in its time. */
const stops = ({ endedAt, exit, killed, report, stoppedAt, worker: w }: Worked): Array<Broken> => {
  const broken = (name: string, text: string) => [{ name, messageId: undefined, text: `${w.name}: ${text}` }]
  if (killed) return []
  if (stoppedAt === undefined)
    return broken("livesOn", `ended by itself: ${Exit.isFailure(exit) ? Cause.pretty(exit.cause) : ""}`)
  // the drain; receives that are given up, handlers and settlements each once more; the listener
  const most = w.drainMs + 3 * w.interruptMs + 1000 + stalledMs(w)
  const took = endedAt - stoppedAt
  if (took > most) return broken("stopsInTime", `stopped within ${took} ms; ${most} ms were allowed`)
  if (!isClean(exit) && !isIncomplete(exit)) {
    return broken("livesOn", `ended with ${Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "a value"}`)
  }
  if (report !== undefined && report.complete !== isClean(exit)) {
    return broken("reportsDrain", `the report says ${report.complete ? "complete" : "not complete"}, the exit does not`)
  }
  return []
}

/** Each delivery has one end, which is told, and is true. */
const tells = (view: JournalQuery.JournalView, { events, killed, report, worker }: Worked): Array<Broken> => {
  if (killed) return []
  const found: Array<Broken> = []
  const byHandle = new Map(view.deliveries.map((d) => [d.receiptHandle, d]))
  const received = new Set<string>()
  const settled = new Map<string, number>()
  const say = (messageId: string, text: string) =>
    void found.push({ name: "tellsTheEnd", messageId, text: `${worker.name}: ${text}` })
  const abandoned = new Set(report?.deliveries.filter((d) => d.settled === undefined).map((d) => d.receiptHandle))
  for (const e of events) {
    if (e._tag === "Received") received.add(e.receiptHandle)
    if (e._tag !== "DeliverySettled") continue
    settled.set(e.receiptHandle, (settled.get(e.receiptHandle) ?? 0) + 1)
    const { asked, confirmed, problem } = e.settled
    const delivery = byHandle.get(e.receiptHandle)
    const done = delivery?.asks.filter((a) => a.outcome === "done").map((a) => a.kind) ?? []
    if (confirmed && problem !== undefined) say(e.messageId, `${asked._tag} confirmed, and a problem told`)
    if (!confirmed && problem === undefined) say(e.messageId, `${asked._tag} not confirmed, and no problem told`)
    if (!confirmed) continue
    if ((asked._tag === "Delete" || asked._tag === "DeadLetter") && !done.includes("delete"))
      say(e.messageId, `${asked._tag} told as confirmed, and SQS did not`)
    // of releases with a delay the journal cannot tell for sure that they are none but beats
    if (asked._tag === "Release" && !done.includes("release") && !done.includes("beat"))
      say(e.messageId, `Release told as confirmed, and SQS did not`)
  }
  for (const [handle, times] of settled)
    if (times > 1) say(byHandle.get(handle)?.messageId ?? "?", `its end was told ${times} times`)
  for (const d of view.deliveries) {
    if (d.process !== worker.name || d.arrived === undefined) continue
    // what SQS answered to a call that was given up meanwhile came to nobody
    if (!received.has(d.receiptHandle)) {
      if (d.runs.length > 0) say(d.messageId, `delivery ${d.receiptHandle} ran, and its receive was not told`)
    } else if (!settled.has(d.receiptHandle) && !abandoned.has(d.receiptHandle))
      say(d.messageId, `the end of delivery ${d.receiptHandle} was not told`)
  }
  for (const d of report?.deliveries ?? []) {
    const kinds =
      byHandle
        .get(d.receiptHandle)
        ?.asks.filter((a) => a.outcome === "done")
        .map((a) => a.kind) ?? []
    const asksRelease = d.became === "released" || d.became === "interrupted"
    if (asksRelease && !kinds.includes("release") && !kinds.includes("beat"))
      say(d.messageId, `reported as ${d.became}, and SQS was not asked, or refused`)
  }
  return found
}

/** A message is in its queue, or was worked off, or has its copy where dead letters are, or was dropped by a policy. */
const losesNothing = (played: Played, view: JournalQuery.JournalView): Array<Broken> => {
  const left = new Set(played.left.map((m) => m.messageId))
  const dead = new Set(
    played.deadLetters.flatMap((m) => [m.messageId, m.attributes["effect_sqs.message_id"]?.StringValue ?? ""])
  )
  const policyDrops = (id: string) =>
    played.mayDelete.has(id) ||
    (played.undecodable.has(id) && played.scene.workers.some((w) => deletes(w.undecodable) || deletes(w.redelivery)))
  return played.sent.flatMap((messageId): Array<Broken> => {
    const life = view.messages.get(messageId)
    const succeeded = life?.deliveries.some((d) => d.runs.some((r) => r.outcome === "success"))
    return left.has(messageId) || dead.has(messageId) || succeeded || policyDrops(messageId)
      ? []
      : [{ name: "losesNothing", messageId, text: "gone, and no run of it had succeeded" }]
  })
}

/** In calm weather the queue gets empty, and then all places are free. */
const recovers = ({ calm }: Played): Array<Broken> => {
  if (calm === undefined) return []
  const broken = (text: string) => [{ name: "recovers", messageId: undefined, text }]
  if (!calm.emptied) return broken("hours after the weather got calm there are messages left")
  return calm.taken === undefined || calm.taken === calm.places
    ? []
    : broken(`of ${calm.places} places only ${calm.taken} could be taken once all was done`)
}

/**
 * A receive count that is spent without a run: a stop gives back what waits, and in a FIFO group so does a failure where
 * more wait than may be held. With very few receives allowed that can be all of them. Without beats a group's leases run
 * out again and again behind one long run, and in slots of a second or two any slow answer loses its head's.
 */
const isKnown = ({ scene }: Played, { name }: Broken): boolean =>
  name === "neverRanNeverDead" &&
  (scene.kind === "fifo"
    ? (scene.maxReceiveCount ?? 100) < 6 ||
      scene.workers.some((w) => w.heartbeatMs === "off" || (w.visibilityS ?? scene.queueVisibilityS) < 3)
    : (scene.maxReceiveCount ?? 100) < 3)

export const verify = (played: Played): ReadonlyArray<Broken> => {
  const view = JournalQuery.read(played.entries)
  const all = common(played, played.scene.workers)
  // of the journal as it was when the worker ended
  const until = (w: Worked) => JournalQuery.read(played.entries.slice(0, w.entries))
  const violations = [
    ...played.workers.flatMap((w) => Invariants.check(until(w), ofWorker(played, w))),
    ...(played.workers.length > 1 ? Invariants.check(view, all) : [])
  ]
  return [
    ...violations.map((v) => ({ name: v.invariant, messageId: v.messageId, text: v.text })),
    ...played.workers.flatMap(stops),
    ...played.workers.flatMap((w) => tells(view, w)),
    ...losesNothing(played, view),
    ...recovers(played)
  ].filter((b) => !isKnown(played, b))
}

/** The names of what is broken, each in a line, and the lives of the first messages that it concerns. */
export const explain = (played: Played, broken: ReadonlyArray<Broken>): string => {
  const view = JournalQuery.read(played.entries)
  const lines = [...new Set(broken.map((b) => `${b.name}: ${b.messageId ?? ""} ${b.text}`))].slice(0, 10)
  const ids = [...new Set(broken.flatMap((b) => b.messageId ?? []))].slice(0, 2)
  return [...lines, ...ids.flatMap((id) => view.messages.get(id) ?? []).map((life) => Timeline.text(life))].join("\n\n")
}
