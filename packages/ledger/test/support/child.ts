/** Processes of their own, for what only a process can show: a death, a lock. */
import { Effect } from "effect"
import { spawn } from "node:child_process"
import * as path from "node:path"

export interface Child {
  /** waits until it has said a line that begins so, and gives it */
  readonly says: (beginning: string) => Effect.Effect<string>
  /** SIGKILL, and waits until it is gone */
  readonly kill: Effect.Effect<void>
}

/** runs a script beside this file; it is killed with the scope */
export const child = (script: string, ...args: ReadonlyArray<string>) =>
  Effect.acquireRelease(
    Effect.sync((): Child => {
      const file = path.join(import.meta.dirname, script)
      const options = ["--conditions=@effect-sqs/source", "--import", "tsx"]
      const running = spawn(process.execPath, [...options, file, ...args], { stdio: ["ignore", "pipe", "pipe"] })
      let out = ""
      let errors = ""
      running.stderr.on("data", (data) => (errors += String(data)))
      running.stdout.on("data", (data) => (out += String(data)))
      const gone = new Promise<void>((resolve) => running.once("exit", () => resolve()))
      return {
        says: (beginning) =>
          Effect.async<string>((resume) => {
            const look = () => {
              const line = out
                .split("\n")
                .slice(0, -1)
                .find((l) => l.startsWith(beginning))
              if (line !== undefined) resume(Effect.succeed(line))
            }
            running.stdout.on("data", look)
            void gone.then(() => resume(Effect.dieMessage(`the process ended without saying ${beginning}: ${errors}`)))
            look()
          }),
        kill: Effect.promise(() => {
          running.kill("SIGKILL")
          return gone
        })
      }
    }),
    (running) => running.kill
  )
