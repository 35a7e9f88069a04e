/**
 * Which dead letters are meant: by attributes, body, age, source, reason, type, receive count or id. All that is given must
 * hold.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { type DeadLetter, json, NONE_RECORDED, textOf } from "./DeadLetter.js"
import * as Path from "./internal/deadLetterPath.js"

/**
 * How a value is compared: `~` contains, `?` is there.
 *
 * @since 0.1.0
 * @category models
 */
export const Comparison = Schema.Literal("=", "!=", "<=", ">=", "<", ">", "~", "?")

/**
 * @since 0.1.0
 * @category models
 */
export type Comparison = typeof Comparison.Type

/**
 * A condition on an attribute (`at` is its name) or on the body (`at` is a path, as `$.order.id`).
 *
 * @since 0.1.0
 * @category models
 */
export const Condition = Schema.Struct({ at: Schema.String, is: Comparison, value: Schema.String })

/**
 * @since 0.1.0
 * @category models
 */
export type Condition = typeof Condition.Type

/**
 * The filter; an empty one holds for all. Times are epoch milliseconds.
 *
 * @since 0.1.0
 * @category models
 */
export const DeadLetterFilter = Schema.Struct({
  attributes: Schema.optional(Schema.Array(Condition)),
  body: Schema.optional(Schema.Array(Condition)),
  sentBefore: Schema.optional(Schema.Number),
  sentAfter: Schema.optional(Schema.Number),
  /** names or ARNs of source queues; one of them */
  sources: Schema.optional(Schema.Array(Schema.String)),
  /** parts of the reason, in any case; one of them. `none recorded` for those without one */
  reasons: Schema.optional(Schema.Array(Schema.String)),
  /** one of them */
  types: Schema.optional(Schema.Array(Schema.String)),
  /** one of them */
  messageIds: Schema.optional(Schema.Array(Schema.String)),
  /** received so often or more, this look included */
  receivedAtLeast: Schema.optional(Schema.Number)
})

/**
 * @since 0.1.0
 * @category models
 */
export type DeadLetterFilter = typeof DeadLetterFilter.Type

const comparison = /^\s*(!=|<=|>=|=|<|>|~)(.*)$/s

const conditionOf = (at: string, rest: string): Condition | undefined => {
  if (rest.trim() === "") return { at, is: "?", value: "" }
  const found = comparison.exec(rest)
  return found === null ? undefined : { at, is: found[1] as Comparison, value: found[2]!.trim() }
}

/**
 * A condition on the body from a text as `$.customer.tier=gold`, `$.amount>100`, `$.note~refund` or `$.couponCode`;
 * `undefined` when it is none.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parseBody = (text: string): Condition | undefined => {
  const found = Path.parse(text.trim())
  if (found === undefined) return undefined
  const { rest } = found
  const at = text.trim().slice(0, text.trim().length - rest.length)
  return conditionOf(at, rest)
}

/**
 * A condition on an attribute from a text as `tenant=north`, `attempt>3` or `urgent`; `undefined` when it is none.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parseAttribute = (text: string): Condition | undefined => {
  const name = /^[A-Za-z0-9_.-]+/.exec(text.trim())?.[0]
  return name === undefined ? undefined : conditionOf(name, text.trim().slice(name.length))
}

const numeric = (text: string): number | undefined =>
  text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined

const holds = (actual: unknown, { is, value }: Condition): boolean => {
  if (actual === undefined) return is === "!="
  if (is === "?") return true
  const text = typeof actual === "string" ? actual : JSON.stringify(actual)
  const equal = text === value || (typeof actual === "number" && actual === numeric(value))
  if (is === "=") return equal
  if (is === "!=") return !equal
  if (is === "~") return text.includes(value)
  const [a, b] = [numeric(text), numeric(value)]
  // texts too: dates in ISO form are in the order of time
  const order = a !== undefined && b !== undefined ? a - b : text < value ? -1 : text > value ? 1 : 0
  return is === "<" ? order < 0 : is === "<=" ? order <= 0 : is === ">" ? order > 0 : order >= 0
}

const attributeValue = (letter: DeadLetter, name: string): unknown => {
  const attribute = letter.message.attributes[name]
  if (attribute === undefined) return undefined
  const text = textOf(attribute)
  return /^Number(\.|$)/.test(attribute.dataType) ? (numeric(text) ?? text) : text
}

const oneOf = <A>(list: ReadonlyArray<A> | undefined, test: (a: A) => boolean): boolean =>
  list === undefined || list.length === 0 || list.some(test)

/**
 * Whether a dead letter is meant.
 *
 * @since 0.1.0
 * @category predicates
 */
export const matches = (filter: DeadLetterFilter, letter: DeadLetter): boolean => {
  const { sentAt } = letter.message
  const reason = (letter.reason ?? NONE_RECORDED).toLowerCase()
  const { body = [], attributes = [] } = filter
  const tree = body.length === 0 ? undefined : json(letter)
  return (
    attributes.every((c) => holds(attributeValue(letter, c.at), c)) &&
    body.every((c) => holds(Path.read(tree, Path.parse(c.at)?.path ?? []), c)) &&
    (filter.sentBefore === undefined || (sentAt !== undefined && sentAt < filter.sentBefore)) &&
    (filter.sentAfter === undefined || (sentAt !== undefined && sentAt > filter.sentAfter)) &&
    (filter.receivedAtLeast === undefined || letter.message.receiveCount >= filter.receivedAtLeast) &&
    oneOf(filter.sources, (s) => s === letter.source || s === letter.message.deadLetterSourceArn) &&
    oneOf(filter.reasons, (r) => reason.includes(r.toLowerCase())) &&
    oneOf(filter.types, (t) => t === letter.type) &&
    oneOf(filter.messageIds, (id) => id === letter.messageId)
  )
}

/**
 * Whether the filter says anything.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isEmpty = (filter: DeadLetterFilter): boolean =>
  Object.values(filter).every((v) => v === undefined || (Array.isArray(v) && v.length === 0))
