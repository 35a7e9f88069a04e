/**
 * Telling a receiver that a report is there: one POST with an idempotency key, to an address that was looked at first.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { OutsideCall, OutsidePolicy } from "@effect-sqs/ledger/Outside"
import type { UnknownCall } from "@effect-sqs/ledger/Reconciler"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Address from "./Address.js"
import { didNotHappen, type WebhookError } from "./WebhookError.js"
import { type Answer, request } from "./WebhookRequest.js"
import { outcomeOf } from "./Outcome.js"

/**
 * Whom to tell. `idempotent`: the receiver promises that a notice with a key that it has seen does nothing again.
 * `statusUrl`: where it can be asked about a key, see `ask`.
 *
 * @since 0.1.0
 * @category models
 */
export interface WebhookTarget {
  readonly url: string
  readonly idempotent: boolean
  readonly statusUrl?: string | undefined
}

/**
 * What a receiver is told, as JSON. It is the same for every try.
 *
 * @since 0.1.0
 * @category models
 */
export class Notice extends Schema.Class<Notice>("Notice")({
  jobId: Schema.String,
  /** which report, as `flight-delays` */
  report: Schema.String,
  artifact: Schema.Struct({
    name: Schema.String,
    location: Schema.String,
    bytes: Schema.Number,
    sha256: Schema.String
  }),
  /** ISO 8601 */
  completedAt: Schema.optionalWith(Schema.String, { exact: true })
}) {}

/**
 * The receiver has it. `reported`: it did not answer the notice, but said so when it was asked later.
 *
 * @since 0.1.0
 * @category models
 */
export const Delivered = Schema.Struct({ status: Schema.Number, reported: Schema.Boolean })

/**
 * @since 0.1.0
 * @category models
 */
export type Delivered = typeof Delivered.Type

/**
 * The idempotency key of a job's notice: the reference of its outside call.
 *
 * @since 0.1.0
 * @category naming
 */
export const referenceOf = (jobId: string): string => `report:${jobId}`

/** A call is over before the ledger cuts it off, so that how it ended is known more often. */
const margin = Duration.seconds(2)

/**
 * How the ledger treats a notice: it is made again for a receiver that knows the key; for any other a call that may have
 * happened leaves its outcome unknown. `timeout` is the one of the layer; the claim must be longer by 2 s.
 *
 * @since 0.1.0
 * @category policies
 */
export const policyOf = (
  target: WebhookTarget,
  timeout: Duration.DurationInput
): OutsidePolicy<Delivered, Delivered, never, WebhookError> => {
  const options = { timeout: Duration.sum(timeout, margin), result: Delivered }
  return target.idempotent ? Ledger.replayable(options) : Ledger.ambiguous({ ...options, didNotHappen })
}

/**
 * @since 0.1.0
 * @category models
 */
export interface WebhookOptions {
  /** the most that one try may take, from the look-up of the name to the answer */
  readonly timeout: Duration.DurationInput
  /** whether receivers may have private addresses, or this machine's */
  readonly allowPrivate: boolean
  /** how names are looked up; default: as the system does */
  readonly resolve?: Address.Resolve | undefined
  /** certificates to trust instead of the well-known ones, PEM */
  readonly ca?: string | undefined
}

/** What a status URL has to answer, with status 200. */
const Status = Schema.parseJson(Schema.Struct({ happened: Schema.Boolean }))

/** A try that somebody else is making may still arrive: so many timeouts after its begin it does not. */
const patience = 3

/**
 * @since 0.1.0
 * @category services
 */
export class Webhook extends Context.Tag("@effect-sqs/report-worker/Webhook")<
  Webhook,
  {
    /**
     * One try, without following redirects. To be made in a `Ledger.outside`, whose call it is given: the reference is
     * sent as `Idempotency-Key`, the attempt as `Idempotency-Attempt`.
     */
    readonly deliver: (
      target: WebhookTarget,
      notice: Notice,
      call: OutsideCall
    ) => Effect.Effect<Delivered, WebhookError>
    /**
     * Asks what became of a call, for a reconciler: `GET statusUrl?key=…`, answered with 200 and `{"happened": true}` or
     * `{"happened": false}`. Every other answer, and a missing status URL, leave it unknown; so does a "no" until three
     * timeouts have passed since the call began, for it may still be on its way.
     */
    readonly ask: (target: WebhookTarget, call: Pick<UnknownCall, "ref" | "startedAt">) => Effect.Effect<Verdict>
  }
>() {
  /**
   * @category layers
   */
  static readonly layer = (options: WebhookOptions): Layer.Layer<Webhook> => Layer.succeed(Webhook, make(options))
}

const make = (options: WebhookOptions): typeof Webhook.Service => {
  const timeout = Duration.decode(options.timeout)
  const send = (
    url: string,
    how: { readonly method: "GET" | "POST"; readonly headers: Record<string, string>; readonly body?: string }
  ) =>
    request(url, {
      ...how,
      timeout,
      allow: options.allowPrivate ? Address.isPrivateOrPublic : Address.isPublic,
      resolve: options.resolve ?? Address.resolve,
      ca: options.ca
    })

  return Webhook.of({
    deliver: (target, notice, call) =>
      Effect.flatMap(Schema.encode(Schema.parseJson(Notice))(notice).pipe(Effect.orDie), (body) =>
        send(target.url, {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "idempotency-key": call.ref,
            "idempotency-attempt": String(call.attempt)
          },
          body
        }).pipe(
          Effect.flatMap((answer) => outcomeOf(target.url, answer)),
          Effect.map(({ status }): Delivered => ({ status, reported: false }))
        )
      ),

    ask: (target, call) => {
      const { statusUrl } = target
      if (statusUrl === undefined) return Effect.succeed(Verdict.StillUnknown())
      return Effect.gen(function* () {
        const url = yield* Effect.try({ try: () => new URL(statusUrl), catch: (e) => e as TypeError })
        url.searchParams.set("key", call.ref)
        const askedAt = yield* Clock.currentTimeMillis
        const answer: Answer = yield* send(url.href, { method: "GET", headers: { "cache-control": "no-store" } })
        if (answer.status !== 200) {
          yield* Effect.logWarning(`${answer.status} for a question about ${call.ref}: that says nothing`)
          return Verdict.StillUnknown()
        }
        const { happened } = yield* Schema.decode(Status)(answer.text)
        if (happened) return Verdict.Happened({ result: { status: answer.status, reported: true } satisfies Delivered })
        return askedAt - call.startedAt < patience * Duration.toMillis(timeout)
          ? Verdict.StillUnknown()
          : Verdict.DidNotHappen()
      }).pipe(
        Effect.catchAll((e) =>
          Effect.as(Effect.logWarning(`no answer about ${call.ref}: ${e.message}`), Verdict.StillUnknown())
        )
      )
    }
  })
}
