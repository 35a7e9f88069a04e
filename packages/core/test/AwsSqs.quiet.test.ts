/** Alone in its file: the SDK warns of an old Node once in a process, with the first client. */
import * as AwsSqs from "@effect-sqs/core/AwsSqs"
import { assert, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { vi } from "vitest"
import { credentials, environment, json, receiveOf, serve } from "./sqsStub.js"

it.scopedLive("what the SDK warns of comes once, on Effect's logger, and nothing on the console", () =>
  Effect.gen(function* () {
    yield* environment({ AWS_ENDPOINT_URL_SQS: undefined, AWS_ENDPOINT_URL: undefined })
    const warnings: Array<unknown> = []
    const keep = (...content: ReadonlyArray<unknown>) => {
      warnings.push(content)
    }
    yield* Effect.acquireRelease(
      Effect.sync(() => {
        process.on("warning", keep)
        return vi.spyOn(console, "warn").mockImplementation(keep)
      }),
      (spy) =>
        Effect.sync(() => {
          spy.mockRestore()
          process.off("warning", keep)
        })
    )
    const logged: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => {
      logged.push(`${logLevel.label} ${String(message)}`)
    })
    const { url } = yield* serve((call) => json(call, {}))
    // no endpoint: the SDK goes to the host of the queue's URL, and warns each time that it does
    const port = yield* AwsSqs.make({ region: "us-east-1", credentials }).pipe(
      Effect.provide(Logger.replace(Logger.defaultLogger, logger))
    )
    for (let i = 0; i < 3; i++) {
      yield* receiveOf(port, `${url}/0/jobs`)
      yield* port.attributes(`${url}/0/jobs`)
    }
    // warnings of the process come with the next turn of the event loop
    yield* Effect.async<void>((resume) => {
      setImmediate(() => resume(Effect.void))
    })
    assert.strictEqual(logged.length, 1)
    assert.match(logged[0]!, /^WARN QueueUrl=.* differs from SQSClient resolved endpoint/)
    assert.deepStrictEqual(warnings, [])
    assert.isUndefined(process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED)
  })
)
