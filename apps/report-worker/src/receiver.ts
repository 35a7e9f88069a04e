/** The receiver as a program: prints its address and each notice, until it is stopped. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import { reportingFailures } from "./Failures.js"
import { make, plays, troubles } from "./receiver/Receiver.js"

const help = `receiver — takes the notices of the report worker, and plays what real receivers do

usage: receiver [--port N] [--trouble N --seed TEXT]

  --port N      where it listens, on 127.0.0.1; default: any free port
  --trouble N   of a thousand notices about so many meet trouble
  --seed TEXT   what the trouble is drawn from

A notice goes to /honours (knows idempotency keys) or to /ignores (knows none); /status?key=… answers whether a notice with
the key had its effect; / shows the books. ?play=cut-after,answer says what becomes of the first try of a key, and so on:
${plays.join(", ")}
`

const program = Effect.gen(function* () {
  const { values } = yield* Effect.try({
    try: () =>
      parseArgs({
        options: {
          help: { type: "boolean", short: "h" },
          port: { type: "string", default: "0" },
          trouble: { type: "string", default: "0" },
          seed: { type: "string", default: "1" }
        }
      }),
    catch: (e) => e as Error
  })
  if (values.help === true) return yield* Console.log(help)
  const receiver = yield* make({
    port: Number(values.port),
    play: troubles(values.seed, Number(values.trouble)),
    onNotice: (received, play) => Console.log(JSON.stringify({ ...received, play, bodies: undefined }))
  })
  yield* Console.log(receiver.url)
  return yield* Effect.never
})

NodeRuntime.runMain(reportingFailures(Effect.scoped(program)), { disableErrorReporting: true })
