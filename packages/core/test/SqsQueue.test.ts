import { SqsQueue } from "@effect-sqs/core"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect, Exit, ParseResult, Schema } from "effect"

class Job extends Schema.Class<Job>("Job")({
  id: Schema.String,
  pages: Schema.Number.pipe(Schema.positive()),
  due: Schema.DateFromString
}) {}

const Jobs = SqsQueue.make("jobs", { schema: Job })
const text = `{"id":"a","pages":2,"due":"2026-01-02T03:04:05.000Z"}`

/** A schema that cannot be had without an effect. */
const later = Schema.transformOrFail(Schema.String, Schema.String, {
  strict: true,
  decode: (s, _, ast) =>
    Effect.zipRight(
      Effect.yieldNow(),
      s === "bad" ? ParseResult.fail(new ParseResult.Type(ast, s)) : ParseResult.succeed(s.toUpperCase())
    ),
  encode: ParseResult.succeed
})

describe("SqsQueue.make", () => {
  it("takes the kind from the suffix, of a name or of a URL", () => {
    const kindOf = (name: string) => SqsQueue.make(name, { schema: Schema.String }).kind
    assert.strictEqual(kindOf("jobs"), "standard")
    assert.strictEqual(kindOf("jobs.fifo"), "fifo")
    assert.strictEqual(kindOf("https://sqs.eu-west-1.amazonaws.com/123456789012/jobs"), "standard")
    assert.strictEqual(kindOf("https://sqs.eu-west-1.amazonaws.com/123456789012/jobs.fifo"), "fifo")
    assert.strictEqual(kindOf("http://localhost:9324/000000000000/fifo"), "standard")
  })

  it("keeps the name as it was given", () => {
    assert.strictEqual(Jobs.name, "jobs")
    const url = "http://localhost:9324/000000000000/jobs"
    assert.strictEqual(SqsQueue.make(url, { schema: Schema.String }).name, url)
  })

  const refusal = (name: string, options: Partial<SqsQueue.SqsQueueOptions<string, string, never>>) => {
    try {
      SqsQueue.make(name, { schema: Schema.String, ...options })
    } catch (u) {
      assert.instanceOf(u, SqsQueue.InvalidQueue)
      return u
    }
    return assert.fail("it was taken")
  }

  it("refuses a kind that contradicts the name, either way", () => {
    assert.include(refusal("jobs", { kind: "fifo" }).message, `kind is "fifo", but a name without .fifo is standard`)
    assert.include(refusal("j.fifo", { kind: "standard" }).message, `kind is "standard", but a name with .fifo is fifo`)
  })

  it("takes a kind that agrees with the name", () => {
    assert.strictEqual(SqsQueue.make("j.fifo", { schema: Schema.String, kind: "fifo" }).kind, "fifo")
    assert.strictEqual(SqsQueue.make("jobs", { schema: Schema.String, kind: "standard" }).kind, "standard")
  })

  it("refuses a deduplication id on a standard queue; a group is possible there", () => {
    assert.include(refusal("jobs", { deduplicationId: (s) => s }).message, "deduplicationId is for FIFO queues only")
    assert.strictEqual(SqsQueue.make("jobs", { schema: Schema.String, groupId: (s) => s }).groupId?.("x"), "x")
  })

  it("refuses names that SQS has none of", () => {
    for (const name of ["", "a b", "a.b", ".fifo", "x".repeat(81), "http://localhost:9324/"]) refusal(name, {})
    assert.strictEqual(SqsQueue.make("x".repeat(80), { schema: Schema.String }).kind, "standard")
  })

  it("tells all faults at once", () => {
    const faults = refusal("a b", { kind: "fifo", deduplicationId: (s) => s }).faults
    assert.strictEqual(faults.length, 3)
  })
})

describe("names", () => {
  it("tells a URL from a name, whatever its case", () => {
    assert.isTrue(SqsQueue.isUrl("HTTPS://sqs.eu-west-1.amazonaws.com/1/jobs"))
    assert.isFalse(SqsQueue.isUrl("https"))
  })

  it("gives the name at the end of a URL", () => {
    assert.strictEqual(SqsQueue.nameOf("http://localhost:9324/queue/jobs.fifo"), "jobs.fifo")
    assert.strictEqual(SqsQueue.nameOf("jobs"), "jobs")
  })

  it("gives the URL of a dead-letter queue beside its source", () => {
    assert.strictEqual(
      SqsQueue.deadLetterUrl("http://localhost:9324/000000000000/jobs", "arn:aws:sqs:us-east-1:000000000000:jobs-dlq"),
      "http://localhost:9324/000000000000/jobs-dlq"
    )
    assert.strictEqual(
      SqsQueue.deadLetterUrl("https://sqs.cn-north-1.amazonaws.com.cn/1/a.fifo", "arn:aws-cn:sqs:cn-north-1:1:b.fifo"),
      "https://sqs.cn-north-1.amazonaws.com.cn/1/b.fifo"
    )
    assert.isUndefined(SqsQueue.deadLetterUrl("http://localhost/0/jobs", "arn:aws:sns:us-east-1:0:topic"))
  })
})

describe("decode", () => {
  it.effect("gives the body, with an effect or without", () =>
    Effect.gen(function* () {
      const expected = new Job({ id: "a", pages: 2, due: new Date("2026-01-02T03:04:05.000Z") })
      assert.deepStrictEqual(yield* Jobs.decode(text), expected)
      assert.deepStrictEqual(Jobs.decodeNow(text), Exit.succeed(expected))
    })
  )

  const reason = (body: string) => {
    const exit = Jobs.decodeNow(body)
    assert.isDefined(exit)
    return Effect.map(Effect.flip(exit), (e) => e.reason)
  }

  it.effect("names path and expected type of what is wrong, and never a value", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* reason(`secret`), "it is not JSON")
      assert.strictEqual(yield* reason(`null`), "the body: expected Job (Encoded side), got null")
      assert.strictEqual(yield* reason(`["secret"]`), "the body: expected Job (Encoded side), got array")
      assert.strictEqual(yield* reason(`{"id":"secret"}`), "pages is missing")
      assert.strictEqual(yield* reason(`{"id":["secret"],"pages":1,"due":""}`), "id: expected string, got array")
      assert.strictEqual(
        yield* reason(`{"id":"secret","pages":-42,"due":"2026-01-02"}`),
        "pages: expected a positive number"
      )
    })
  )

  it.effect("names the place inside lists and nested values", () =>
    Effect.gen(function* () {
      const Nested = SqsQueue.make("n", {
        schema: Schema.Struct({ rows: Schema.Array(Schema.Struct({ cells: Schema.Array(Schema.Number) })) })
      })
      const error = yield* Effect.flip(Nested.decode(`{"rows":[{"cells":[1]},{"cells":[1,2,"x"]}]}`))
      assert.strictEqual(error.reason, "rows[1].cells[2]: expected number, got string")
      assert.strictEqual(error.message, `A message of n is not what its schema says: ${error.reason}`)
    })
  )

  it.effect("keeps a reason short, whatever the schema is called", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 200 }, (_, i) => `choice-${i}`)
      const Choice = SqsQueue.make("c", { schema: Schema.Struct({ ["k".repeat(300)]: Schema.Literal(...many) }) })
      const error = yield* Effect.flip(Choice.decode(`{"${"k".repeat(300)}":"other"}`))
      assert.strictEqual(error.reason.length, 200)
    })
  )

  it.effect("takes a schema that throws for a body that does not fit", () =>
    Effect.gen(function* () {
      const Throwing = SqsQueue.make("t", {
        schema: Schema.transform(Schema.String, Schema.String, {
          strict: true,
          decode: () => {
            throw new RangeError("secret")
          },
          encode: (s) => s
        })
      })
      const exit = Throwing.decodeNow(`"x"`)
      assert.isDefined(exit)
      assert.strictEqual((yield* Effect.flip(exit)).reason, "the schema threw RangeError")
      assert.strictEqual((yield* Effect.flip(Throwing.decode(`"x"`))).reason, "the schema threw RangeError")
    })
  )

  it.effect("has no short way for an asynchronous schema, and says so", () =>
    Effect.gen(function* () {
      const Later = SqsQueue.make("l", { schema: later })
      assert.isUndefined(Later.decodeNow(`"x"`))
      assert.isUndefined(Later.decodeNow(`"x"`))
      assert.strictEqual(yield* Later.decode(`"x"`), "X")
      assert.strictEqual((yield* Effect.flip(Later.decode(`"bad"`)))._tag, "DecodeError")
      assert.strictEqual((yield* Effect.flip(Later.decode(`{`))).reason, "it is not JSON")
    })
  )

  it.effect(
    "begins an asynchronous schema once to learn that it is one, and takes its defects for bodies that do not fit",
    () =>
      Effect.gen(function* () {
        let begun = 0
        const Dying = SqsQueue.make("d", {
          schema: Schema.transformOrFail(Schema.String, Schema.String, {
            strict: true,
            decode: () => {
              begun++
              return Effect.zipRight(Effect.yieldNow(), Effect.die(new RangeError("secret")))
            },
            encode: ParseResult.succeed
          })
        })
        assert.isUndefined(Dying.decodeNow(`"x"`))
        assert.isUndefined(Dying.decodeNow(`"x"`))
        assert.strictEqual(begun, 1)
        assert.strictEqual((yield* Effect.flip(Dying.decode(`"x"`))).reason, "the schema threw RangeError")
      })
  )

  it.effect("gives a service to a schema that needs one", () =>
    Effect.gen(function* () {
      class Prefix extends Context.Tag("Prefix")<Prefix, string>() {}
      const Prefixed = SqsQueue.make("p", {
        schema: Schema.transformOrFail(Schema.String, Schema.String, {
          strict: true,
          decode: (s) => Effect.map(Prefix, (prefix) => prefix + s),
          encode: ParseResult.succeed
        })
      })
      const decoded = Prefixed.decode(`"x"`) satisfies Effect.Effect<string, SqsQueue.DecodeError, Prefix>
      assert.strictEqual(yield* Effect.provideService(decoded, Prefix, "p-"), "p-x")
      assert.isUndefined(Prefixed.decodeNow(`"x"`))
    })
  )
})

describe("encode", () => {
  it.effect("is the other way of decode", () =>
    Effect.gen(function* () {
      const body = new Job({ id: "a", pages: 2, due: new Date("2026-01-02T03:04:05.000Z") })
      assert.strictEqual(yield* Jobs.encode(body), text)
      assert.deepStrictEqual(yield* Jobs.decode(yield* Jobs.encode(body)), body)
    })
  )

  it.effect("fails, with a reason, for what the schema or JSON cannot write", () =>
    Effect.gen(function* () {
      const Positive = SqsQueue.make("q", { schema: Schema.Number.pipe(Schema.positive()) })
      const error = yield* Effect.flip(Positive.encode(-1))
      assert.strictEqual(error._tag, "EncodeError")
      assert.strictEqual(error.reason, "the body: expected a positive number")
      const Nothing = SqsQueue.make("q", { schema: Schema.Undefined })
      assert.strictEqual((yield* Effect.flip(Nothing.encode(undefined))).reason, "JSON has no text for it")
      const Any = SqsQueue.make("q", { schema: Schema.Unknown })
      assert.strictEqual((yield* Effect.flip(Any.encode(1n))).reason, "JSON.stringify threw TypeError")
    })
  )

  it.effect("writes characters that SQS refuses as escapes", () =>
    Effect.gen(function* () {
      const Texts = SqsQueue.make("q", { schema: Schema.String })
      const body = "a\u0000\u0008\uFFFE\uFFFF\uD800z"
      const encoded = yield* Texts.encode(body)
      assert.match(encoded, /^[\t\n\r\u0020-\uD7FF\uE000-\uFFFD]*$/)
      assert.strictEqual(yield* Texts.decode(encoded), body)
    })
  )
})
