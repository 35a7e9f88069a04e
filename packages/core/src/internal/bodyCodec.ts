/**
 * Bodies to and from the text of a message, compiled once per queue. What is wrong with a body is told without its
 * values: bodies stay out of logs and of dead-letter attributes.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"

const maxReasonChars = 200
const maxExpectedChars = 80

const cut = (s: string, max: number) => (s.length > max ? `${s.slice(0, max - 1)}…` : s)

const typeOf = (u: unknown) => (u === null ? "null" : Array.isArray(u) ? "array" : typeof u)

const pathOf = (path: ReadonlyArray<PropertyKey>) =>
  path.length === 0
    ? "the body"
    : path.map((p, i) => (typeof p === "number" ? `[${p}]` : i === 0 ? String(p) : `.${String(p)}`)).join("")

const first = (issue: ParseResult.ParseIssue, path: ReadonlyArray<PropertyKey>): string => {
  switch (issue._tag) {
    case "Pointer":
      return first(issue.issue, path.concat(issue.path))
    case "Composite":
      return first("_tag" in issue.issues ? issue.issues : issue.issues[0], path)
    case "Transformation":
      return first(issue.issue, path)
    case "Refinement":
      return issue.kind === "From" ? first(issue.issue, path) : expectation(issue.ast, path)
    case "Missing":
      return `${pathOf(path)} is missing`
    case "Unexpected":
      return `${pathOf(path)} is not expected`
    case "Forbidden":
    case "Type":
      return `${expectation(issue.ast, path)}, got ${typeOf(issue.actual)}`
  }
}

const expectation = (ast: SchemaAST.AST, path: ReadonlyArray<PropertyKey>) => {
  const described = SchemaAST.isRefinement(ast) ? SchemaAST.getDescriptionAnnotation(ast) : Option.none()
  const expected = Option.getOrElse(described, () => String(ast))
  return `${pathOf(path)}: expected ${cut(expected, maxExpectedChars)}`
}

/** The first fault of an issue, at most 200 characters. */
const reasonOf = (issue: ParseResult.ParseIssue): string => cut(first(issue, []), maxReasonChars)

const threw = (where: string, u: unknown) => `${where} threw ${u instanceof Error ? u.name : typeof u}`

export const decoder = <A, I, R, E>(schema: Schema.Schema<A, I, R>, fail: (reason: string) => E) => {
  // With effects allowed the parser answers an Either when it needed none: no fiber, no Effect.
  const parse = ParseResult.decodeUnknown(schema)
  let asynchronous = false

  const start = (text: string): Exit.Exit<A, E> | Effect.Effect<A, E, R> => {
    let json: unknown
    try {
      json = JSON.parse(text)
    } catch {
      return Exit.fail(fail("it is not JSON"))
    }
    try {
      const parsed = parse(json)
      if (!Either.isEither(parsed)) {
        return parsed.pipe(
          Effect.mapError((issue) => fail(reasonOf(issue))),
          Effect.catchAllDefect((u) => Effect.fail(fail(threw("the schema", u))))
        )
      }
      const either = parsed as Either.Either<A, ParseResult.ParseIssue>
      return Either.isRight(either) ? Exit.succeed(either.right) : Exit.fail(fail(reasonOf(either.left)))
    } catch (u) {
      // One message must not bring the consumer down, whatever the schema does with it.
      return Exit.fail(fail(threw("the schema", u)))
    }
  }

  return {
    decode: (text: string): Effect.Effect<A, E, R> => Effect.suspend(() => start(text)),
    decodeNow: (text: string): Exit.Exit<A, E> | undefined => {
      if (asynchronous) return undefined
      const started = start(text)
      if (Exit.isExit(started)) return started as Exit.Exit<A, E>
      asynchronous = true
      return undefined
    }
  }
}

/** SQS refuses two characters that JSON need not escape. */
const escaped = (json: string) => (/[\uFFFE\uFFFF]/.test(json) ? json.replace(/[\uFFFE\uFFFF]/g, unicodeEscape) : json)

const unicodeEscape = (character: string) => `\\u${character.charCodeAt(0).toString(16)}`

export const encoder = <A, I, R, E>(schema: Schema.Schema<A, I, R>, fail: (reason: string) => E) => {
  const print = ParseResult.encode(schema)
  const stringify = (encoded: I): Effect.Effect<string, E> => {
    try {
      const text = JSON.stringify(encoded) as string | undefined
      return text === undefined ? Effect.fail(fail("JSON has no text for it")) : Effect.succeed(escaped(text))
    } catch (u) {
      return Effect.fail(fail(threw("JSON.stringify", u)))
    }
  }
  return (body: A): Effect.Effect<string, E, R> =>
    Effect.suspend(() => print(body)).pipe(
      Effect.mapError((issue) => fail(reasonOf(issue))),
      Effect.catchAllDefect((u) => Effect.fail(fail(threw("the schema", u)))),
      Effect.flatMap(stringify)
    )
}
