/**
 * The conformance suite as a command: `npm run conformance`, on a server of its own whose clock is virtual, or on the SQS that
 * `SQS_ENDPOINT` names. Exit code 1 when a check failed, 2 for a flag that cannot be used.
 *
 * @since 0.1.0
 */
import { SQSClient } from "@aws-sdk/client-sqs"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { randomInt } from "node:crypto"
import { parseArgs } from "node:util"
import * as Conformance from "../Conformance.js"
import { ownDoor, realDoor, type ServedDoor } from "../internal/conformance/sdkDoor.js"
import { ManualClock } from "../internal/manualClock.js"
import * as SqsServer from "../SqsServer.js"
import * as VirtualSqs from "../VirtualSqs.js"

const help = `Checks what an SQS does against what is known of Amazon's, through the AWS SDK.

Usage: [SQS_ENDPOINT=URL] npm run conformance -- [flags]

  --only TEXT        run the checks whose id contains TEXT
  --max-seconds N    skip checks that let more time pass (15 with SQS_ENDPOINT, no limit without)
  --concurrency N    checks at a time (8 with SQS_ENDPOINT; 1 without: they share a virtual clock)
  --list             tell the checks and their evidence, run none
  --help             this text

SQS_ENDPOINT is the endpoint of an emulator, or of AWS; without it the suite starts a server of its own, whose
clock it moves. AWS_REGION and the usual AWS credentials are used where they are set.
`

const print = (text: string) => process.stdout.write(text)

/** What later versions of the SDK will need is of no interest here. */
process.env["AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED"] ??= "true"

const clientOf = (endpoint: string) => {
  const { AWS_ACCESS_KEY_ID, AWS_PROFILE, AWS_REGION } = process.env
  const own = AWS_ACCESS_KEY_ID !== undefined || AWS_PROFILE !== undefined
  return new SQSClient({
    endpoint,
    region: AWS_REGION ?? "us-east-1",
    ...(own ? {} : { credentials: { accessKeyId: "local", secretAccessKey: "local" } }),
    maxAttempts: 3
  })
}

const inFlightLimit = 20

const ownServer = Effect.gen(function* () {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const server = SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ inFlightLimit, journal: "off" })))
  const context = yield* Effect.withClock(Layer.build(server), clock)
  return yield* Effect.provide(
    Effect.map(Effect.all([SqsServer.SqsServer, VirtualSqs.VirtualSqs]), ([{ url }, virtual]): ServedDoor => ({
      clock,
      inFlightLimit,
      url,
      virtual
    })),
    context
  )
})

const line = ({ check, reason, status }: Conformance.Result) =>
  `${status.padEnd(7)}  ${check.id.padEnd(28)}  ${check.evidence.padEnd(10)}  ${check.title}\n` +
  (reason === undefined || status === "passed" ? "" : `         ${reason}\n`)

const summary = (results: ReadonlyArray<Conformance.Result>) => {
  const count = (status: Conformance.Result["status"]) => results.filter((r) => r.status === status).length
  return `\n${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped\n`
}

const parse = () => {
  try {
    return parseArgs({
      options: {
        only: { type: "string", default: "" },
        "max-seconds": { type: "string" },
        concurrency: { type: "string" },
        list: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false }
      }
    }).values
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const main = (values: Exclude<ReturnType<typeof parse>, string>) =>
  Effect.gen(function* () {
    const endpoint = process.env["SQS_ENDPOINT"]
    const checks = Conformance.suite.filter(({ id }) => id.includes(values.only))
    if (values.list) {
      for (const { evidence, id, title } of checks) print(`${id.padEnd(28)}  ${evidence.padEnd(10)}  ${title}\n`)
      return 0
    }
    const served = endpoint === undefined ? yield* ownServer : undefined
    const url = endpoint ?? served?.url ?? ""
    const client = yield* Effect.acquireRelease(
      Effect.sync(() => clientOf(url)),
      (client) => Effect.sync(() => client.destroy())
    )
    const number = (text: string | undefined, otherwise: number) => (text === undefined ? otherwise : Number(text))
    print(`${checks.length} checks on ${endpoint ?? "a server of our own, in virtual time"}\n\n`)
    const results = yield* Conformance.run(served === undefined ? realDoor(client, url) : ownDoor(client, served), {
      checks,
      concurrency: served === undefined ? number(values.concurrency, 8) : 1,
      maxSeconds: number(values["max-seconds"], served === undefined ? 15 : Infinity),
      // of its own for each run: AWS keeps a deleted name for 60 s
      prefix: `conformance-${randomInt(2 ** 40).toString(36)}`,
      onResult: (result) => Effect.sync(() => void print(line(result)))
    })
    print(summary(results))
    return results.some(({ status }) => status === "failed") ? 1 : 0
  })

const values = parse()
if (typeof values === "string") {
  process.stderr.write(`${values.split(/\.\s|\n/, 1)[0]}. See --help.\n`)
  process.exitCode = 2
} else if (values.help) {
  print(help)
} else {
  void Effect.runPromise(Effect.scoped(main(values))).then(
    (code) => {
      process.exitCode = code
    },
    (error: unknown) => {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
      process.exitCode = 1
    }
  )
}
