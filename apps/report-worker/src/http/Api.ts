/**
 * The HTTP API of the worker, as types: what can be asked, what is answered, what can go wrong. `/openapi.json` is made from
 * it. All times are epoch ms.
 *
 * @since 0.1.0
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import { JobEvent } from "../jobs/JobEvent.js"
import { DeliveryState, JobRow, JobState } from "../jobs/JobRow.js"
import { JobId, ReportJob } from "../ReportJob.js"
import { Access, cookieName, CrossSite, Unauthorized } from "./Access.js"
import { LengthRequired, NotJson, TooLarge, TooLong, UnknownHost } from "./Guard.js"
import { problemAt } from "./Problem.js"
import { mostChars } from "./Tokens.js"
import * as View from "./View.js"

/**
 * Nothing is known under this name.
 *
 * @since 0.1.0
 * @category errors
 */
export const NotFound = problemAt("NotFound", 404, "nothing is known under this name")

/**
 * It cannot be done as things are now.
 *
 * @since 0.1.0
 * @category errors
 */
export const Conflict = problemAt("Conflict", 409, "it cannot be done as things are now")

/**
 * A database, SQS or store does not answer; trying again later may help.
 *
 * @since 0.1.0
 * @category errors
 */
export const Unavailable = problemAt("Unavailable", 503, "something that is needed does not answer")

/**
 * The path of a job's address.
 *
 * @since 0.1.0
 * @category models
 */
const byJob = Schema.Struct({ id: JobId })

/** one value or several: `?state=queued&state=running` */
const several = <A extends string>(schema: Schema.Schema<A>) => Schema.optional(Schema.Array(schema))

const text = (max: number) => Schema.String.pipe(Schema.maxLength(max))

const count = (max: number) => Schema.NumberFromString.pipe(Schema.int(), Schema.between(1, max))

const Counter = Schema.Int.pipe(Schema.between(0, 2 ** 31 - 1))

/** calendars end somewhere, and so does what prints them */
const Time = Schema.Number.pipe(
  Schema.filter((ms) => Number.isInteger(ms) && ms > 0 && ms <= Date.UTC(9999, 11, 31, 23, 59, 59, 999)),
  Schema.annotations({
    message: () => "expected epoch milliseconds, a whole number up to the year 9999",
    jsonSchema: { type: "integer", minimum: 1, maximum: Date.UTC(9999, 11, 31, 23, 59, 59, 999) },
    description: "epoch milliseconds"
  })
)

/** what a person has to say about a decision */
const Note = Schema.Trim.pipe(Schema.minLength(1), Schema.maxLength(500)).annotations({
  message: () => "expected a few words, at most 500 characters"
})

const MessageIds = Schema.Array(text(100))
  .pipe(Schema.minItems(1), Schema.maxItems(100))
  .annotations({
    message: () => "expected 1 to 100 message ids",
    description: "1 to 100 message ids"
  })

const upTo = (max: number, of: string) =>
  Schema.Int.pipe(Schema.between(1, max)).annotations({ message: () => `expected 1 to ${max} ${of}` })

const answer = <F extends Schema.Struct.Fields>(status: number, fields: F) =>
  Schema.Struct(fields).annotations(HttpApiSchema.annotations({ status }))

const jobs = HttpApiGroup.make("jobs")
  .add(
    HttpApiEndpoint.post("submit", "/jobs")
      .setPayload(
        Schema.Struct({ job: ReportJob, notBefore: Schema.optional(Time) }).annotations({
          parseOptions: { errors: "all" }
        })
      )
      .addSuccess(answer(202, { accepted: Schema.Literal(true), job: JobRow }))
      .addSuccess(answer(200, { accepted: Schema.Literal(false), job: JobRow }))
      .addError(Conflict)
      .annotate(
        OpenApi.Description,
        "Submits a job. 202: accepted. 200: the same job was accepted before, nothing changed. 409: its id names another job."
      )
  )
  .add(
    HttpApiEndpoint.get("list", "/jobs")
      .setUrlParams(
        Schema.Struct({
          state: several(JobState),
          delivery: several(DeliveryState),
          text: Schema.optional(
            Schema.String.pipe(
              Schema.pattern(/^[A-Za-z0-9-]{0,48}$/, {
                message: () => "expected at most 48 letters, digits or hyphens"
              })
            )
          ),
          after: Schema.optional(Schema.String.pipe(Schema.pattern(/^\d{1,15}\.[a-z0-9-]{1,48}$/))),
          limit: Schema.optional(count(1000))
        })
      )
      .addSuccess(Schema.Struct({ jobs: Schema.Array(JobRow), next: Schema.optional(Schema.String) }))
      .annotate(OpenApi.Description, "Jobs, newest first. `next` is the `after` of the following page.")
  )
  .add(
    HttpApiEndpoint.get("one", "/jobs/:id")
      .setPath(byJob)
      .addSuccess(
        Schema.Struct({
          job: JobRow,
          events: Schema.Array(JobEvent),
          report: Schema.optional(View.LedgerKey),
          delivery: Schema.optional(View.LedgerKey)
        })
      )
      .addError(NotFound)
      .annotate(
        OpenApi.Description,
        "A job with its history, and what the ledger knows of its report and its delivery."
      )
  )
  .add(
    HttpApiEndpoint.post("cancel", "/jobs/:id/cancel")
      .setPath(byJob)
      .addSuccess(JobRow)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.get("download", "/jobs/:id/report")
      .setPath(byJob)
      .setUrlParams(Schema.Struct({ inline: Schema.optional(Schema.Literal("yes")) }))
      .addSuccess(HttpApiSchema.Uint8Array())
      .addError(NotFound)
      .annotate(
        OpenApi.Description,
        "The finished report. `inline=yes`: to be shown, where a browser can show it safely."
      )
  )

const queue = HttpApiGroup.make("queue")
  .add(HttpApiEndpoint.get("now", "/now").addSuccess(View.Snapshot))
  .add(
    HttpApiEndpoint.post("consuming", "/consuming")
      .setPayload(Schema.Struct({ paused: Schema.Boolean }))
      .addSuccess(View.Consuming)
      .addError(Conflict)
      .annotate(OpenApi.Description, "Pauses or resumes the receiving of this worker. Running jobs go on.")
  )
  .add(
    HttpApiEndpoint.get("events", "/events")
      .addSuccess(Schema.String.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: "text/event-stream" })))
      .annotate(
        OpenApi.Description,
        "Server-sent events: `snapshot` first, then `lease`, `state`, `counters`, `job`. With Last-Event-ID it goes on there, if that is still remembered."
      )
  )

const deadLetters = HttpApiGroup.make("dead-letters")
  .add(
    HttpApiEndpoint.get("list", "/dead-letters")
      .addSuccess(View.DeadLetters)
      .addError(Conflict)
      .annotate(OpenApi.Description, "What lies in the dead-letter queue. Looking counts one receive on each message.")
  )
  .add(
    HttpApiEndpoint.get("one", "/dead-letters/:messageId")
      .setPath(Schema.Struct({ messageId: text(100) }))
      .addSuccess(View.DeadLetterDetail)
      .addError(NotFound)
      .addError(Conflict)
  )
  .add(
    HttpApiEndpoint.post("redrive", "/dead-letters/redrive")
      .setPayload(
        Schema.Struct({
          messageIds: MessageIds,
          atMost: Schema.optional(upTo(100, "messages")),
          perSecond: Schema.optional(upTo(50, "messages a second"))
        })
      )
      .addSuccess(View.Redriven)
      .addError(Conflict)
      .annotate(
        OpenApi.Description,
        "Sends messages back to their queue, through the ledger: what is completed is deleted instead, what is undecided is kept. `atMost` of them are sent, all unless it is given; `perSecond` of them in a second, 10 unless it is given. The answer comes when it is done."
      )
  )
  .add(
    HttpApiEndpoint.post("discard", "/dead-letters/discard")
      .setPayload(Schema.Struct({ messageIds: MessageIds, reason: Note }))
      .addSuccess(View.Discarded)
      .addError(Conflict)
      .annotate(OpenApi.Description, "Deletes messages after they were written into a file that is kept.")
  )

const reviews = HttpApiGroup.make("reviews")
  .add(
    HttpApiEndpoint.get("list", "/reviews")
      .addSuccess(Schema.Struct({ reviews: Schema.Array(View.Review) }))
      .annotate(OpenApi.Description, "Deliveries of which nobody knows whether they happened.")
  )
  .add(
    HttpApiEndpoint.post("decide", "/reviews/:id")
      .setPath(byJob)
      .setPayload(
        Schema.Struct({
          attempt: Counter,
          callSeq: Counter,
          verdict: Schema.Literal("happened", "did not happen"),
          note: Note
        })
      )
      .addSuccess(Schema.Struct({ state: Schema.String }))
      .addError(Conflict)
  )

const log = HttpApiGroup.make("log").add(
  HttpApiEndpoint.get("list", "/actions")
    .setUrlParams(
      Schema.Struct({
        before: Schema.optional(count(Number.MAX_SAFE_INTEGER)),
        limit: Schema.optional(count(1000))
      })
    )
    .addSuccess(Schema.Struct({ actions: Schema.Array(View.Action), next: Schema.optional(Schema.Number) }))
    .annotate(OpenApi.Description, "Who did what, newest first.")
)

const me = HttpApiGroup.make("me").add(
  HttpApiEndpoint.get("who", "/me")
    .addSuccess(View.Me)
    .annotate(OpenApi.Description, "Who is asking, and what they may do.")
)

/** these are open: there is no name yet */
const session = HttpApiGroup.make("session")
  .add(
    HttpApiEndpoint.post("login", "/login")
      .setPayload(Schema.Struct({ token: text(mostChars) }))
      .addSuccess(View.Me)
      .addError(Unauthorized)
      .annotate(OpenApi.Description, "Answers a right token with a cookie for this browser.")
  )
  .add(HttpApiEndpoint.post("logout", "/logout").addSuccess(Schema.Struct({})))
  .addError(CrossSite)
  .prefix("/api")

/** What middleware of one's own does not tell of itself: a token in one of two ways. Without tokens none is asked for. */
const withSecurity = (spec: Record<string, any>): Record<string, any> => ({
  ...spec,
  components: {
    ...spec["components"],
    securitySchemes: {
      token: { type: "http", scheme: "bearer" },
      login: { type: "apiKey", in: "cookie", name: cookieName }
    }
  },
  paths: Records.map(spec["paths"] as Record<string, Record<string, any>>, (path) =>
    Records.map(path, (operation) =>
      operation["tags"].includes(session.identifier)
        ? operation
        : { ...operation, security: [{ token: [] }, { login: [] }, {}] }
    )
  )
})

/**
 * The API.
 *
 * @since 0.1.0
 * @category api
 */
export const Api = HttpApi.make("report-worker")
  .add(jobs.addError(Unavailable).middleware(Access).prefix("/api"))
  .add(queue.addError(Unavailable).middleware(Access).prefix("/api"))
  .add(deadLetters.addError(Unavailable).middleware(Access).prefix("/api"))
  .add(reviews.addError(Unavailable).middleware(Access).prefix("/api"))
  .add(log.addError(Unavailable).middleware(Access).prefix("/api"))
  .add(me.middleware(Access).prefix("/api"))
  .add(session)
  .addError(UnknownHost)
  .addError(LengthRequired)
  .addError(TooLarge)
  .addError(TooLong)
  .addError(NotJson)
  .annotate(OpenApi.Title, "Report worker")
  .annotate(OpenApi.Transform, withSecurity)
  .annotate(OpenApi.Version, "0.1.0")
