/**
 * The server as a command: `npm run sqs -- --help`. Exit code 0 after SIGINT or SIGTERM, 1 when it cannot listen, 2 for a flag
 * that cannot be used.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { randomInt } from "node:crypto"
import { banner, FlagError, help, readFlags, type ServerFlags } from "../internal/commandLine.js"
import * as SqsServer from "../SqsServer.js"
import * as VirtualSqs from "../VirtualSqs.js"

const print = (text: string) => Effect.sync(() => void process.stdout.write(text))

const serve = (flags: ServerFlags) =>
  Effect.gen(function* () {
    const virtual = yield* VirtualSqs.VirtualSqs
    for (const queue of flags.queues) {
      yield* Effect.mapError(
        virtual.createQueue(queue),
        ({ detail }) => new FlagError(`--queue ${queue.name}: ${detail.replace(/\.?$/, ".")}`)
      )
    }
    const { url } = yield* SqsServer.SqsServer
    const queueUrls = flags.queues.map(({ name }) => `${url}/${flags.accountId}/${name}`)
    yield* print(banner(url, flags.region, queueUrls))
    return yield* Effect.never
  }).pipe(
    Effect.provide(
      SqsServer.layer({ host: flags.host, port: flags.port }).pipe(
        Layer.provideMerge(VirtualSqs.layer({ ...flags, queues: [], seed: flags.seed ?? randomInt(2 ** 47) }))
      )
    )
  )

const fail = (code: number, text: string) => {
  process.stderr.write(`${text}\n`)
  process.exitCode = code
}

const flags = readFlags(process.argv.slice(2))
if (flags === "help") {
  process.stdout.write(help)
} else if (flags instanceof FlagError) {
  fail(2, `${flags.sentence} See --help.`)
} else {
  const fiber = Effect.runFork(Effect.either(serve(flags)))
  const stop = () => fiber.unsafeInterruptAsFork(fiber.id())
  process.once("SIGINT", stop)
  process.once("SIGTERM", stop)
  fiber.addObserver((exit) => {
    process.removeListener("SIGINT", stop)
    process.removeListener("SIGTERM", stop)
    if (Exit.isInterrupted(exit)) return
    if (Exit.isFailure(exit)) return fail(1, String(exit.cause))
    if (exit.value._tag === "Right") return
    const error = exit.value.left
    if (error instanceof FlagError) fail(2, `${error.sentence} See --help.`)
    else fail(1, error.message)
  })
}
