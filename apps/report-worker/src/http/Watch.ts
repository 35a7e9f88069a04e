/**
 * What watchers are told beside the deliveries: the counters of the queues and the jobs, and what is written into the history
 * of the jobs by any worker. Nothing is asked for while nobody watches.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import { type QueueAttributes, Sqs } from "@effect-sqs/core/Sqs"
import { isUrl, nameOf } from "@effect-sqs/core/SqsQueue"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { JobStore } from "../jobs/JobStore.js"
import { type SqlEvent, toEvent } from "../jobs/sqlRow.js"
import { Live } from "./Live.js"
import type { Counters, QueueCounts } from "./View.js"

/**
 * The queue, and the dead-letter queue where its redrive policy is not to tell.
 *
 * @since 0.1.0
 * @category models
 */
export interface Queues {
  /** name or URL */
  readonly queue: string
  readonly deadLetterQueue: string | undefined
}

const countersEvery = Duration.seconds(2)
const eventsEvery = Duration.millis(150)
/** one that does not answer is left out */
const patience = Duration.seconds(5)
const eventsAtOnce = 200
/** on PostgreSQL a number that was given first can be seen later than one that was given after it */
const lookBack = 100

const counts = (url: string, a: QueueAttributes): QueueCounts => ({
  name: nameOf(url),
  visible: a.messages,
  inFlight: a.messagesNotVisible,
  delayed: a.messagesDelayed
})

const urlOf = (nameOrUrl: string) =>
  isUrl(nameOrUrl) ? Effect.succeed(nameOrUrl) : Effect.flatMap(Sqs, (sqs) => sqs.queueUrl(nameOrUrl))

/**
 * The URL of the dead-letter queue, where there is one.
 *
 * @since 0.1.0
 * @category queues
 */
export const deadLetterUrl = ({ deadLetterQueue, queue }: Queues) =>
  Effect.gen(function* () {
    if (deadLetterQueue !== undefined) return yield* Effect.asSome(urlOf(deadLetterQueue))
    const { redrivePolicy } = yield* Effect.flatMap(Sqs, (sqs) => Effect.flatMap(urlOf(queue), sqs.attributes))
    const arn = redrivePolicy?.deadLetterTargetArn
    return arn === undefined ? Option.none<string>() : yield* Effect.asSome(urlOf(arn.slice(arn.lastIndexOf(":") + 1)))
  })

/** Nothing where it cannot be asked now. */
const orNothing = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A | undefined, never, R> =>
  self.pipe(
    Effect.timeout(patience),
    Effect.catchAllCause((cause) =>
      Cause.isInterruptedOnly(cause)
        ? Effect.interrupt
        : Effect.as(Effect.logDebug("a counter could not be asked for", cause), undefined)
    )
  )

const oldest = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ at: string | number | null }>`
    SELECT min(CASE WHEN not_before > accepted_at THEN not_before ELSE accepted_at END) AS at
    FROM report_job WHERE state IN ('accepted', 'queued')`
  const at = rows[0]?.at ?? undefined
  return at === undefined ? undefined : Number(at)
})

const undecided = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ n: string | number }>`
    SELECT count(*) AS n FROM report_job WHERE delivery IN ('unknown', 'review')`
  return Number(rows[0]!.n)
})

/**
 * The counters as they are now.
 *
 * @since 0.1.0
 * @category counters
 */
export const look = (queues: Queues): Effect.Effect<Counters, never, JobStore | SqlClient.SqlClient | Sqs> =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const jobs = yield* JobStore
    const of = (url: string) => Effect.map(sqs.attributes(url), (a) => counts(url, a))
    const all = yield* Effect.all(
      {
        jobs: orNothing(jobs.counts),
        oldestAt: orNothing(oldest),
        undecided: orNothing(undecided),
        queue: orNothing(Effect.flatMap(urlOf(queues.queue), of)),
        deadLetters: orNothing(
          Effect.flatMap(deadLetterUrl(queues), Option.match({ onNone: () => Effect.succeed(undefined), onSome: of }))
        )
      },
      { concurrency: "unbounded" }
    )
    return { at: yield* Clock.currentTimeMillis, ...all }
  })

const whileWatched = <E, R>(self: Effect.Effect<void, E, R>) =>
  Effect.gen(function* () {
    const live = yield* Live
    if ((yield* live.watchers) > 0) yield* orNothing(self)
  })

/** what was written into the histories since the last look */
const tail = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const live = yield* Live
  let last: number | undefined
  let told = new Set<number>()
  return Effect.gen(function* () {
    if (last === undefined) {
      // what is there is in the lists already; what is not there yet may still come, also below the last
      const rows = yield* sql<{
        seq: string | number
      }>`SELECT seq FROM report_event ORDER BY seq DESC LIMIT ${lookBack}`
      told = new Set(rows.map(({ seq }) => Number(seq)))
      last = Math.max(0, ...told)
      return
    }
    const rows = yield* sql<SqlEvent>`
      SELECT seq, job_id, at, kind, detail FROM report_event
      WHERE seq > ${Math.max(0, last - lookBack)} ORDER BY seq DESC LIMIT ${eventsAtOnce + lookBack}`
    const fresh = rows.filter(({ seq }) => !told.has(Number(seq))).reverse()
    for (const row of fresh) {
      told.add(Number(row.seq))
      yield* live.tell({ kind: "job", data: yield* toEvent(row) })
    }
    last = Math.max(last, ...fresh.map(({ seq }) => Number(seq)))
    const oldestTold = last - lookBack
    if (fresh.length > 0) told = new Set([...told].filter((seq) => seq >= oldestTold))
  })
})

/**
 * Looks for ever.
 *
 * @since 0.1.0
 * @category constructors
 */
export const run = (queues: Queues): Effect.Effect<never, never, JobStore | Live | SqlClient.SqlClient | Sqs> =>
  Effect.gen(function* () {
    const live = yield* Live
    const looked = Effect.flatMap(look(queues), live.counted)
    const events = yield* tail
    const every = <E, R>(pause: Duration.Duration, self: Effect.Effect<void, E, R>) =>
      Effect.forever(Effect.zipRight(whileWatched(self), Effect.sleep(pause)))
    return yield* Effect.zipRight(
      Effect.all([every(countersEvery, looked), every(eventsEvery, events)], {
        concurrency: "unbounded",
        discard: true
      }),
      Effect.never
    )
  })
