/**
 * What the API does, group by group. Whatever changes something is written into the log of actions, with the name of who
 * asked.
 *
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerRecord } from "@effect-sqs/ledger/LedgerRecord"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { JobStore } from "../jobs/JobStore.js"
import { namespaces } from "../Policies.js"
import { Actor, cookieName, Gate } from "./Access.js"
import { ActionLog } from "./ActionLog.js"
import { Api, Conflict, NotFound, Unavailable } from "./Api.js"
import { Closing } from "./Closing.js"
import { Control } from "./Control.js"
import { DeadLetters } from "./DeadLetters.js"
import { download } from "./Download.js"
import * as Events from "./Events.js"
import { Live } from "./Live.js"
import * as Reviews from "./Reviews.js"
import { cookieMs, cookieOf } from "./Tokens.js"

const pageSize = 50
/** streams of events at a time */
const maxWatchers = 100

type Down = { readonly _tag: "JobStoreFailed" | "LedgerStoreError"; readonly message: string }

const isDown = (e: { readonly _tag: string }): e is Down => e._tag === "JobStoreFailed" || e._tag === "LedgerStoreError"

/** what the database could not do is told as 503 */
const orUnavailable = <A, E extends { readonly _tag: string; readonly message: string }, R>(
  self: Effect.Effect<A, E, R>
): Effect.Effect<A, Exclude<E, Down> | typeof Unavailable.Type, R> =>
  Effect.mapError(self, (e) => (isDown(e) ? Unavailable.make({ message: e.message }) : (e as Exclude<E, Down>)))

/** a person waits */
const patience = "10 seconds"

/** the same, and one that does not answer in time; what was begun may still be done */
const inTime = <A, E extends { readonly _tag: string; readonly message: string }, R>(self: Effect.Effect<A, E, R>) =>
  orUnavailable(
    Effect.timeoutFail(self, {
      duration: patience,
      onTimeout: () => Unavailable.make({ message: "the database does not answer: try again in a moment" })
    })
  )

const done = (action: string, subject: string, detail: Readonly<Record<string, string | number | boolean>> = {}) =>
  Effect.gen(function* () {
    const log = yield* ActionLog
    const { name } = yield* Actor
    yield* log.append({ actor: name, action, subject, detail })
  })

/** what is done cannot be taken back when the log does not take it: then the worker's own log has it */
const doneAnyway = (...[action, subject, detail]: Required<Parameters<typeof done>>) =>
  Effect.catchAll(done(action, subject, detail), (e) =>
    Effect.logWarning(`not in the log of actions: ${action}, ${subject}`, detail, e)
  )

/**
 * What is begun is finished and written into the log, also when who asked goes away meanwhile. It ends with the server.
 */
const lasting = Effect.map(
  Effect.scope,
  (scope) =>
    <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
      Effect.flatMap(Effect.forkIn(self, scope), Fiber.join)
)

const keyOf = (record: Option.Option<LedgerRecord>) =>
  Option.getOrUndefined(
    Option.map(record, ({ attempt, claimUntil, error, state, updatedAt }) => ({
      state,
      attempt,
      error,
      claimUntil,
      updatedAt
    }))
  )

const found = (id: string) =>
  Effect.gen(function* () {
    const jobs = yield* JobStore
    const row = yield* jobs.get(id)
    return yield* Option.match(row, {
      onNone: () => Effect.fail(NotFound.make({ message: `there is no job ${id}` })),
      onSome: Effect.succeed
    })
  })

const jobs = HttpApiBuilder.group(Api, "jobs", (handlers) =>
  Effect.map(lasting, (lasts) =>
    handlers
      .handle("submit", ({ payload: { job, notBefore } }) =>
        Effect.gen(function* () {
          const store = yield* JobStore
          const { _tag, row } = yield* store
            .accept(job, { notBefore })
            .pipe(Effect.catchTag("JobConflict", (e) => Effect.fail(Conflict.make({ message: e.message }))))
          if (_tag === "AlreadyAccepted") return { accepted: false as const, job: row }
          yield* done("submit", job.jobId, { report: job.report, format: job.format })
          return { accepted: true as const, job: row }
        }).pipe(lasts, inTime)
      )
      .handle("list", ({ urlParams: { after, delivery, limit = pageSize, state, text } }) =>
        Effect.gen(function* () {
          const store = yield* JobStore
          const dot = after?.indexOf(".") ?? -1
          const rows = yield* store.list({
            states: state,
            deliveries: delivery,
            text: text === "" ? undefined : text?.toLowerCase(),
            before:
              after === undefined ? undefined : { acceptedAt: Number(after.slice(0, dot)), id: after.slice(dot + 1) },
            limit
          })
          const last = rows.at(-1)
          return {
            jobs: rows,
            ...(last === undefined || rows.length < limit ? {} : { next: `${last.acceptedAt}.${last.id}` })
          }
        }).pipe(inTime)
      )
      .handle("one", ({ path: { id } }) =>
        Effect.gen(function* () {
          const store = yield* JobStore
          const row = yield* found(id)
          const [events, report, delivery] = yield* Effect.all([
            store.events(id),
            Ledger.get({ namespace: namespaces.reports, key: id }),
            Ledger.get({ namespace: namespaces.deliveries, key: id })
          ])
          return { job: row, events, report: keyOf(report), delivery: keyOf(delivery) }
        }).pipe(inTime)
      )
      .handle("cancel", ({ path: { id } }) =>
        Effect.gen(function* () {
          const store = yield* JobStore
          const row = yield* store.cancel(id).pipe(
            Effect.catchTags({
              JobNotFound: (e) => Effect.fail(NotFound.make({ message: e.message })),
              JobEnded: (e) => Effect.fail(Conflict.make({ message: e.message }))
            })
          )
          yield* done("cancel", id)
          return row
        }).pipe(lasts, inTime)
      )
      .handle("download", ({ path: { id }, urlParams: { inline } }) =>
        Effect.flatMap(found(id), (row) => download(row, inline === "yes")).pipe(inTime)
      )
  )
)

const queue = HttpApiBuilder.group(Api, "queue", (handlers) =>
  Effect.map(lasting, (lasts) =>
    handlers
      .handle("now", () => Effect.flatMap(Live, (live) => Effect.map(live.snapshot, ({ snapshot }) => snapshot)))
      .handle("consuming", ({ payload: { paused } }) =>
        Effect.gen(function* () {
          const control = yield* Control
          const live = yield* Live
          const consumer = yield* control.consumer
          if (Option.isNone(consumer)) {
            return yield* Effect.fail(
              Conflict.make({ message: "this worker does not receive now: it starts, or stops" })
            )
          }
          yield* paused ? consumer.value.pause : consumer.value.resume
          yield* done(paused ? "pause" : "resume", consumer.value.queue)
          const { snapshot } = yield* live.snapshot
          // the event of it is on its way
          const state = paused ? ("paused" as const) : ("receiving" as const)
          return snapshot.consuming.state === state
            ? snapshot.consuming
            : { state, since: yield* Clock.currentTimeMillis }
        }).pipe(lasts, inTime)
      )
      .handle("events", () =>
        Effect.gen(function* () {
          const live = yield* Live
          if ((yield* live.watchers) >= maxWatchers) {
            return yield* Effect.fail(Unavailable.make({ message: "too many are watching" }))
          }
          const request = yield* HttpServerRequest.HttpServerRequest
          const closing = yield* Closing
          const body = Events.stream(request.headers["last-event-id"]).pipe(
            Stream.provideService(Live, live),
            Stream.interruptWhen(Deferred.await(closing)),
            Stream.encodeText
          )
          return HttpServerResponse.stream(body, {
            contentType: "text/event-stream",
            headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
          })
        })
      )
  )
)

const deadLetters = HttpApiBuilder.group(Api, "dead-letters", (handlers) =>
  Effect.map(lasting, (lasts) =>
    handlers
      .handle("list", () => Effect.flatMap(DeadLetters, (letters) => letters.list))
      .handle("one", ({ path: { messageId } }) => Effect.flatMap(DeadLetters, (letters) => letters.show(messageId)))
      .handle("redrive", ({ payload: { messageIds, ...limits } }) =>
        Effect.gen(function* () {
          const letters = yield* DeadLetters
          const { name } = yield* Actor
          const context = yield* Effect.context<Actor | ActionLog>()
          return yield* letters.redrive(messageIds, limits, name, ({ deleted, failed, kept, sent, unknown }) =>
            doneAnyway("redrive", subjectOf(messageIds), { sent, deleted, kept, failed, unknown }).pipe(
              Effect.provide(context)
            )
          )
        }).pipe(lasts, orUnavailable)
      )
      .handle("discard", ({ payload: { messageIds, reason } }) =>
        Effect.gen(function* () {
          const letters = yield* DeadLetters
          const { name } = yield* Actor
          const context = yield* Effect.context<Actor | ActionLog>()
          return yield* letters.discard(messageIds, reason, name, ({ discarded }) =>
            doneAnyway("discard", subjectOf(messageIds), { discarded, reason }).pipe(Effect.provide(context))
          )
        }).pipe(lasts, orUnavailable)
      )
  )
)

const subjectOf = (messageIds: ReadonlyArray<string>) =>
  messageIds.length === 1 ? messageIds[0]! : `${messageIds.length} messages, ${messageIds[0]!} and others`

const reviews = HttpApiBuilder.group(Api, "reviews", (handlers) =>
  Effect.map(lasting, (lasts) =>
    handlers
      .handle("list", () => inTime(Effect.map(Reviews.list, (list) => ({ reviews: list }))))
      .handle("decide", ({ path: { id }, payload: { attempt, callSeq, note, verdict } }) =>
        Effect.gen(function* () {
          const decided = yield* Reviews.decide({ jobId: id, attempt, callSeq, verdict })
          yield* done("decide", id, { verdict, note, state: decided.state })
          return decided
        }).pipe(lasts, inTime)
      )
  )
)

const log = HttpApiBuilder.group(Api, "log", (handlers) =>
  handlers.handle("list", ({ urlParams: { before, limit = pageSize } }) =>
    Effect.gen(function* () {
      const actions = yield* Effect.flatMap(ActionLog, (l) => l.list({ before, limit }))
      const last = actions.at(-1)
      return { actions, ...(last === undefined || actions.length < limit ? {} : { next: last.seq }) }
    }).pipe(inTime)
  )
)

const me = HttpApiBuilder.group(Api, "me", (handlers) => handlers.handle("who", () => Actor))

const isSecure = Effect.map(
  HttpServerRequest.HttpServerRequest,
  ({ headers }) => headers["x-forwarded-proto"] === "https"
)

const cookie = (value: string, maxAgeSeconds: number, secure: boolean) => ({
  "set-cookie": `${cookieName}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeSeconds}${secure ? "; Secure" : ""}`
})

const session = HttpApiBuilder.group(Api, "session", (handlers) =>
  handlers
    .handle("login", ({ payload: { token: given } }) =>
      Effect.gen(function* () {
        const gate = yield* Gate
        const token = yield* gate.login(given)
        const now = yield* Clock.currentTimeMillis
        return HttpServerResponse.unsafeJson(
          { name: token.name, readOnly: gate.readOnly(token), tokens: true },
          { headers: cookie(cookieOf(token, now), cookieMs / 1000, yield* isSecure) }
        )
      })
    )
    .handle("logout", () =>
      Effect.map(isSecure, (secure) => HttpServerResponse.unsafeJson({}, { headers: cookie("", 0, secure) }))
    )
)

/**
 * All groups.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = HttpApiBuilder.api(Api).pipe(Layer.provide([jobs, queue, deadLetters, reviews, log, me, session]))
