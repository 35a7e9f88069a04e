/**
 * The tokens that open the API to a name, and the cookie that stands for a token in a browser.
 *
 * @since 0.1.0
 */
import * as Redacted from "effect/Redacted"
import { createHash, createHmac, timingSafeEqual } from "node:crypto"

/**
 * @since 0.1.0
 * @category models
 */
export interface Token {
  /** whose it is; goes into the log of actions */
  readonly name: string
  readonly secret: Redacted.Redacted
  /** may look, and do nothing */
  readonly readOnly: boolean
}

/** shorter ones can be tried out */
const leastChars = 20

/**
 * What is longer is no token.
 *
 * @since 0.1.0
 * @category constants
 */
export const mostChars = 500

/** a token goes into a header: of other characters than ASCII nobody knows how they arrive */
const entry = /^([A-Za-z0-9._@-]{1,40}):([!-+\--9;-~]+)(:read)?$/

/**
 * Reads `name:token` or `name:token:read`, separated by commas; `undefined` when it is none of that, a name or token is there
 * twice, or a token has fewer than 20 or more than 500 characters, or one that is not visible ASCII.
 *
 * @since 0.1.0
 * @category parsing
 */
export const parse = (text: string): ReadonlyArray<Token> | undefined => {
  const tokens: Array<Token> = []
  for (const part of text.split(",")) {
    const found = entry.exec(part.trim())
    if (found === null || found[2]!.length < leastChars || found[2]!.length > mostChars) return undefined
    tokens.push({ name: found[1]!, secret: Redacted.make(found[2]!), readOnly: found[3] !== undefined })
  }
  const isUnique = (values: ReadonlyArray<string>) => new Set(values).size === values.length
  return isUnique(tokens.map((t) => t.name)) && isUnique(tokens.map((t) => Redacted.value(t.secret)))
    ? tokens
    : undefined
}

const digest = (text: string) => createHash("sha256").update(text).digest()

/** in the same time whatever is given */
const isSame = (a: string, b: string) => timingSafeEqual(digest(a), digest(b))

/**
 * Whose token this is. All are compared, each in constant time.
 *
 * @since 0.1.0
 * @category checks
 */
export const find = (tokens: ReadonlyArray<Token>, given: string): Token | undefined => {
  let found: Token | undefined
  for (const token of tokens) if (isSame(Redacted.value(token.secret), given)) found = token
  return found
}

/**
 * How long a login lasts.
 *
 * @since 0.1.0
 * @category constants
 */
export const cookieMs = 12 * 3_600_000

const sign = (token: Token, until: number) =>
  createHmac("sha256", Redacted.value(token.secret))
    .update(`report-worker login\n${token.name}\n${until}`)
    .digest("base64url")

/**
 * The value of the cookie: name, end and signature. The token is not in it; it lasts over a restart, holds for all workers
 * that know the token, and ends when the token is changed.
 *
 * @since 0.1.0
 * @category cookies
 */
export const cookieOf = (token: Token, now: number): string => {
  const until = now + cookieMs
  return `${token.name}~${until}~${sign(token, until)}`
}

/**
 * Whose cookie this is.
 *
 * @since 0.1.0
 * @category cookies
 */
export const findByCookie = (tokens: ReadonlyArray<Token>, value: string, now: number): Token | undefined => {
  const [name, until, signature, ...more] = value.split("~")
  const token = tokens.find((t) => t.name === name)
  if (token === undefined || signature === undefined || more.length > 0 || !/^\d{1,16}$/.test(until!)) return undefined
  if (Number(until) <= now || Number(until) > now + cookieMs) return undefined
  return isSame(sign(token, Number(until)), signature) ? token : undefined
}
