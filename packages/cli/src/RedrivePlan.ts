/**
 * The plan of a redrive: what a dry run found and what is to be done, as a file with a hash. Only a plan that is as it was
 * written is applied.
 *
 * @since 0.1.0
 */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { DeadLetterFilter } from "./DeadLetterFilter.js"
import { FileUnusable } from "./DeadLetterError.js"

const optionalText = Schema.NullOr(Schema.String)

/**
 * How far a redrive goes, and when it stops.
 *
 * @since 0.1.0
 * @category models
 */
export const RedriveLimits = Schema.Struct({
  /** messages that are sent at most */
  total: Schema.Number,
  /** messages that are sent first and waited for; 0: none */
  canary: Schema.Number,
  /** how long the canary may take to settle, in ms */
  settleMs: Schema.Number,
  /** messages a second */
  rate: Schema.Number,
  /** how often one message may be redriven in all */
  maxRedrives: Schema.Number,
  /** stop when more than so many per cent of those sent failed again */
  stopPercent: Schema.Number,
  /** stop when so many, one after another, failed again */
  stopInARow: Schema.Number,
  /** stop when a target queue holds more messages than this; `null`: never */
  maxBacklog: Schema.NullOr(Schema.Number),
  /** messages that are received at most */
  scan: Schema.Number,
  /** how long a message in hand is hidden before its lease is renewed, in seconds */
  visibilitySeconds: Schema.Number
})

/**
 * @since 0.1.0
 * @category models
 */
export type RedriveLimits = typeof RedriveLimits.Type

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultLimits: Omit<RedriveLimits, "total"> = {
  canary: 5,
  settleMs: 300_000,
  rate: 10,
  maxRedrives: 3,
  stopPercent: 10,
  stopInARow: 5,
  maxBacklog: null,
  scan: 10_000,
  visibilitySeconds: 120
}

const Counted = Schema.Struct({ why: Schema.String, count: Schema.Number })

/**
 * @since 0.1.0
 * @category models
 */
export const RedrivePlan = Schema.Struct({
  version: Schema.Literal(1),
  /** of this plan and of its redrive; travels with each message */
  id: Schema.String,
  /** epoch ms */
  createdAt: Schema.Number,
  queue: Schema.Struct({
    url: Schema.String,
    name: Schema.String,
    arn: Schema.String,
    kind: Schema.Literal("standard", "fifo")
  }),
  filter: DeadLetterFilter,
  /** where messages go, by the name of their source; `null` stands for those without one */
  destinations: Schema.Array(
    Schema.Struct({ source: optionalText, url: Schema.String, name: Schema.String, maxBytes: Schema.Number })
  ),
  /** where the business key is */
  key: optionalText,
  /** of the ledger; `null`: the name of the target queue */
  namespace: optionalText,
  /** whether the ledger has to be asked */
  ledger: Schema.Boolean,
  /** what may be sent: only kinds that the dry run showed */
  kinds: Schema.Array(
    Schema.Struct({
      reason: Schema.String,
      type: optionalText,
      source: optionalText,
      count: Schema.Number,
      send: Schema.Number,
      example: Schema.String
    })
  ),
  /** what the dry run saw, and what it would have done */
  seen: Schema.Number,
  send: Schema.Number,
  delete: Schema.Array(Counted),
  keep: Schema.Array(Counted),
  notes: Schema.Array(Schema.String),
  limits: RedriveLimits
})

/**
 * @since 0.1.0
 * @category models
 */
export type RedrivePlan = typeof RedrivePlan.Type

const encode = Schema.encodeSync(RedrivePlan)
const decode = Schema.decodeUnknown(RedrivePlan)

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) =>
    typeof v === "object" && v !== null && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v
  )

const hashOf = (value: unknown): string => createHash("sha256").update(canonical(value)).digest("hex")

/**
 * SHA-256 over all of the plan, hex.
 *
 * @since 0.1.0
 * @category getters
 */
export const hash = (plan: RedrivePlan): string => hashOf(encode(plan))

const unusable = (path: string, detail: string) => new FileUnusable({ path, detail })

/**
 * Writes the plan into a new file; one that is there is not overwritten.
 *
 * @since 0.1.0
 * @category files
 */
export const write = (plan: RedrivePlan, path: string): Effect.Effect<void, FileUnusable, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const text = `${JSON.stringify({ ...encode(plan), hash: hash(plan) }, null, 2)}\n`
    yield* fs
      .writeFileString(path, text, { flag: "wx" })
      .pipe(
        Effect.mapError((e) =>
          unusable(
            path,
            /AlreadyExists|EEXIST/.test(`${e._tag === "SystemError" ? e.reason : ""} ${e.message}`)
              ? "this file exists. Give another --plan, or remove it; to apply it, say --confirm with the queue's name."
              : `the plan cannot be written (${e.message}). Give a --plan in a folder that can be written.`
          )
        )
      )
  })

/**
 * Reads a plan, and refuses one that is not as it was written.
 *
 * @since 0.1.0
 * @category files
 */
export const read = (path: string): Effect.Effect<RedrivePlan, FileUnusable, FileSystem.FileSystem> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const text = yield* fs
      .readFileString(path)
      .pipe(
        Effect.mapError(() => unusable(path, "there is no such plan. Make one with a dry run: leave --confirm out."))
      )
    const value = yield* Effect.try({
      try: () => JSON.parse(text) as unknown,
      catch: () => unusable(path, "this is no plan (not JSON). Make one with a dry run: leave --confirm out.")
    })
    const { hash: written, ...rest } = (typeof value === "object" && value !== null ? value : {}) as {
      readonly hash?: unknown
    }
    const plan = yield* decode(rest).pipe(
      Effect.mapError(() =>
        unusable(path, "this is no plan of this tool. Make one with a dry run: leave --confirm out.")
      )
    )
    if (typeof written !== "string" || written !== hashOf(rest)) {
      return yield* unusable(
        path,
        "this plan was changed after it was written, so it is not what was looked at. Make a new one with a dry run."
      )
    }
    return plan
  })
