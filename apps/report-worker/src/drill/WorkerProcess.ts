/**
 * The worker as a process of its own, which can be killed.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

/** From source in development, from `dist` with plain Node. */
const main = fileURLToPath(new URL(import.meta.url.endsWith(".ts") ? "../main.ts" : "../main.js", import.meta.url))

/**
 * @since 0.1.0
 * @category models
 */
export interface WorkerProcess {
  /** SIGKILL: it has no chance to tidy up */
  readonly kill: Effect.Effect<void>
  /** SIGTERM; answers the exit code when it has ended */
  readonly stop: Effect.Effect<number | null>
  /** completes with what it said last when it ends without having been asked to */
  readonly ownEnd: Effect.Effect<string>
}

const closed = (child: ChildProcess) =>
  Effect.async<number | null>((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) return resume(Effect.succeed(child.exitCode))
    child.once("close", (code) => resume(Effect.succeed(code)))
  })

/**
 * Starts a worker with this environment; it is killed when the scope closes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const start = (environment: Record<string, string>): Effect.Effect<WorkerProcess, never, Scope.Scope> =>
  Effect.gen(function* () {
    let asked = false
    let said = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(process.execPath, [...process.execArgv, main, "worker"], {
          env: environment,
          stdio: ["ignore", "pipe", "pipe"]
        })
      ),
      (started) =>
        Effect.zipRight(
          Effect.sync(() => started.kill("SIGKILL")),
          closed(started)
        )
    )
    const hear = (chunk: Buffer) => {
      said = (said + chunk.toString("utf8")).slice(-1000)
    }
    child.stdout.on("data", hear)
    child.stderr.on("data", hear)
    const ask = (signal: NodeJS.Signals) =>
      Effect.sync(() => {
        asked = true
        child.kill(signal)
      })
    return {
      kill: Effect.zipRight(ask("SIGKILL"), Effect.asVoid(closed(child))),
      stop: Effect.zipRight(ask("SIGTERM"), closed(child)),
      ownEnd: Effect.flatMap(closed(child), () => (asked ? Effect.never : Effect.sync(() => said.trim())))
    }
  })
