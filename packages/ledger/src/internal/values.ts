/** Payloads as hashes, results as JSON text. */
import * as Effect from "effect/Effect"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { createHash } from "node:crypto"
import { LedgerValueInvalid } from "../LedgerError.js"
import type { LedgerId } from "../LedgerRecord.js"

const maxKeyLength = 512

/** of a call or a step; the column holds a prefix as well */
const maxNameLength = 500

/** what UTF-8 has no form for, or PostgreSQL no room: stored, it would be refused or become another text */
const unstorable = /[\0\p{Surrogate}]/u

/** a text without what no database can store */
export const storable = (text: string): string => text.replaceAll(new RegExp(unstorable, "gu"), "")

const invalid = (id: LedgerId, what: string, detail: string) =>
  new LedgerValueInvalid({ namespace: id.namespace, key: id.key, what, detail })

/** the same text for the same value, whatever the order of its properties */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, v: unknown) =>
    typeof v === "object" && v !== null && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v
  ) ?? "undefined"

export const hash = (id: LedgerId, payload: unknown): Effect.Effect<string, LedgerValueInvalid> =>
  Effect.try({
    try: () => createHash("sha256").update(canonical(payload)).digest("hex"),
    catch: (e) => invalid(id, "payload", `is no JSON: ${e instanceof Error ? e.message : String(e)}`)
  })

const checkText = (id: LedgerId, what: string, text: string, maxLength: number) =>
  text.length === 0 || text.length > maxLength
    ? Effect.fail(invalid(id, what, `must have 1 to ${maxLength} characters, not ${text.length}`))
    : unstorable.test(text)
      ? Effect.fail(invalid(id, what, "has a NUL or half a surrogate pair in it, which cannot be stored"))
      : Effect.void

export const checkId = (id: LedgerId): Effect.Effect<void, LedgerValueInvalid> =>
  Effect.zipRight(checkText(id, "namespace", id.namespace, maxKeyLength), checkText(id, "key", id.key, maxKeyLength))

/** of a call or a step: before it is made, since its result is stored under it */
export const checkName = (id: LedgerId, what: string, name: string): Effect.Effect<void, LedgerValueInvalid> =>
  checkText(id, what, name, maxNameLength)

/** the envelope keeps `undefined` apart from `null` */
export const wrap = (id: LedgerId, what: string, encoded: unknown, maxBytes: number) =>
  Effect.flatMap(
    Effect.try({
      try: () => JSON.stringify({ value: encoded }),
      catch: (e) => invalid(id, what, `is no JSON: ${e instanceof Error ? e.message : String(e)}`)
    }),
    (text) => {
      const bytes = Buffer.byteLength(text)
      return bytes <= maxBytes
        ? Effect.succeed(text)
        : Effect.fail(
            invalid(id, what, `takes ${bytes} bytes of at most ${maxBytes}: store it elsewhere, and a reference`)
          )
    }
  )

const fault = (id: LedgerId, what: string, verb: string) => (e: ParseResult.ParseError) =>
  invalid(id, what, `cannot be ${verb}: ${ParseResult.TreeFormatter.formatErrorSync(e)}`)

export const encode = <A, I, R>(
  id: LedgerId,
  what: string,
  schema: Schema.Schema<A, I, R>,
  value: A,
  maxBytes: number
): Effect.Effect<string, LedgerValueInvalid, R> =>
  Schema.encode(schema)(value).pipe(
    Effect.mapError(fault(id, what, "encoded")),
    Effect.flatMap((encoded) => wrap(id, what, encoded, maxBytes))
  )

export const decode = <A, I, R>(
  id: LedgerId,
  what: string,
  schema: Schema.Schema<A, I, R>,
  text: string
): Effect.Effect<A, LedgerValueInvalid, R> =>
  Effect.try({
    try: () => (JSON.parse(text) as { readonly value: unknown }).value,
    catch: () => invalid(id, what, "is stored as something that is no JSON")
  }).pipe(Effect.flatMap((value) => Effect.mapError(Schema.decodeUnknown(schema)(value), fault(id, what, "decoded"))))

/** for the error column and for errors that travel: short, one line */
export const shortText = (error: unknown): string => {
  const tag =
    typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string" ? error._tag : ""
  const text = error instanceof Error ? error.message : typeof error === "string" ? error : ""
  const both = tag === "" || text === "" ? `${tag}${text}` : `${tag}: ${text}`
  return storable((both === "" ? String(error) : both).split("\n")[0]!.slice(0, 500))
}
