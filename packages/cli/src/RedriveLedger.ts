/**
 * What the ledger says of a message before it is sent again.
 *
 * @since 0.1.0
 */
import * as Keys from "@effect-sqs/ledger/Keys"
import type { LedgerRecord, LedgerState } from "@effect-sqs/ledger/LedgerRecord"
import { Ledger } from "@effect-sqs/ledger/LedgerService"
import * as LedgerService from "@effect-sqs/ledger/LedgerService"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { existsSync } from "node:fs"
import { type DeadLetter, json, textOf } from "./DeadLetter.js"
import { LedgerUnavailable, Refused } from "./DeadLetterError.js"
import * as Path from "./internal/deadLetterPath.js"

/**
 * What follows from the state of a key.
 *
 * - `send`: nothing speaks against it
 * - `delete`: the job is done, the message is not needed any more
 * - `keep`: sending could do harm, or somebody has to decide first
 *
 * @since 0.1.0
 * @category models
 */
export interface LedgerAdvice {
  readonly state: LedgerState | "none"
  readonly action: "send" | "delete" | "keep"
  readonly why: string
}

/**
 * Looks one key up. It reads, and writes nothing.
 *
 * @since 0.1.0
 * @category models
 */
export type LedgerLook = (namespace: string, key: string) => Effect.Effect<LedgerAdvice, LedgerUnavailable>

/** the clocks of the database and of this machine may differ by so much */
const clockMarginMs = 60_000

const inProgress = (record: LedgerRecord, now: number): LedgerAdvice => {
  const { call, claimUntil = Infinity, state } = record
  if (now < claimUntil + clockMarginMs) return { state, action: "keep", why: "in progress in the ledger: not now" }
  // its owner died: the next run takes over, unless a call that must not be repeated is open
  return call?.policy === "ambiguous"
    ? { state, action: "keep", why: "unknown outcome in the ledger: decide it first" }
    : { state, action: "send", why: "its last run died" }
}

/**
 * The advice for a record.
 *
 * @since 0.1.0
 * @category getters
 */
export const adviceOf = (record: Option.Option<LedgerRecord>, now: number): LedgerAdvice => {
  if (Option.isNone(record)) return { state: "none", action: "send", why: "not in the ledger" }
  const { state } = record.value
  switch (state) {
    case "completed":
      return { state, action: "delete", why: "completed in the ledger" }
    case "retryable":
      return { state, action: "send", why: "to be tried again, by the ledger" }
    case "in_progress":
      return inProgress(record.value, now)
    case "unknown":
      return { state, action: "keep", why: "unknown outcome in the ledger: decide it first" }
    case "review":
      return { state, action: "keep", why: "in review in the ledger: decide it first" }
    case "rejected":
      return { state, action: "keep", why: "rejected in the ledger: discard it, or send a new key" }
    case "cancelled":
      return { state, action: "keep", why: "cancelled in the ledger: discard it" }
  }
}

/**
 * The look on the ledger of the context.
 *
 * @since 0.1.0
 * @category constructors
 */
export const look: Effect.Effect<LedgerLook, never, Ledger> = Effect.map(
  Ledger,
  (ledger): LedgerLook =>
    (namespace, key) =>
      Keys.get({ namespace, key }).pipe(
        Effect.provideService(Ledger, ledger),
        Effect.mapError((e) => new LedgerUnavailable({ detail: e.message })),
        Effect.flatMap((record) => Effect.map(Clock.currentTimeMillis, (now) => adviceOf(record, now)))
      )
)

const noSuchFile = (path: string) =>
  new LedgerUnavailable({
    detail: `there is no file ${path}; give the path of the worker's SQLite file, or a postgres:// URL`
  })

const typed = <A>(self: Layer.Layer<A, { readonly message: string }>): Layer.Layer<A, LedgerUnavailable> =>
  Layer.catchAll(self, (e) => Layer.fail(new LedgerUnavailable({ detail: e.message })))

const sqlite = (path: string) =>
  Effect.gen(function* () {
    // opening a file that is missing would create an empty ledger, which would allow everything
    if (!existsSync(path)) return yield* noSuchFile(path)
    const [File, Store] = yield* Effect.promise(() =>
      Promise.all([import("@effect-sqs/ledger/SqliteFile"), import("@effect-sqs/ledger/SqliteStore")])
    )
    return Store.layerStore.pipe(Layer.provide(File.layer({ filename: path })), typed)
  })

const postgres = (url: string) =>
  Effect.gen(function* () {
    const [Client, Store] = yield* Effect.promise(() =>
      Promise.all([import("@effect/sql-pg/PgClient"), import("@effect-sqs/ledger/PgStore")])
    )
    const client = Client.layer({ url: Redacted.make(url), maxConnections: 4, applicationName: "effect-sqs dlq" })
    return Store.layerStore.pipe(Layer.provide(client), typed)
  })

/**
 * The ledger behind a `postgres://` URL or in an SQLite file, without creating anything in it.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (urlOrPath: string): Layer.Layer<Ledger, LedgerUnavailable> => {
  const store = /^postgres(ql)?:\/\//.test(urlOrPath) ? postgres(urlOrPath) : sqlite(urlOrPath.replace(/^file:/, ""))
  return LedgerService.layer.pipe(Layer.provide(Layer.unwrapEffect(store)))
}

/**
 * Where the business key is: a path into the body (`$.orderId`), or `attribute:` and a name.
 *
 * @since 0.1.0
 * @category keys
 */
export const keyReader = (where: string): Effect.Effect<(letter: DeadLetter) => string | undefined, Refused> => {
  const text = (value: unknown) =>
    typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined
  if (where.startsWith("attribute:")) {
    const name = where.slice("attribute:".length)
    return Effect.succeed((letter) => {
      const attribute = letter.message.attributes[name]
      return attribute === undefined ? undefined : text(textOf(attribute))
    })
  }
  const parsed = Path.parse(where)
  return parsed === undefined || parsed.rest !== "" || parsed.path.length === 0
    ? Effect.fail(new Refused({ sentence: `--key ${where}: expected a path as $.orderId, or attribute:NAME.` }))
    : Effect.succeed((letter) => text(Path.read(json(letter), parsed.path)))
}
