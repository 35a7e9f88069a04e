/** One run a plan: two at once would not know of each other's sends. */
import * as FileSystem from "@effect/platform/FileSystem"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as os from "node:os"
import { FileUnusable } from "../DeadLetterError.js"

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (e) {
    // it is there, and somebody else's
    return (e as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Held until the scope closes. That of a process which died on this machine is taken over. */
export const lock = (audit: string): Effect.Effect<void, FileUnusable, FileSystem.FileSystem | Scope.Scope> =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = `${audit}.lock`
    const host = os.hostname()
    const write = fs.writeFileString(path, `${process.pid} ${host}\n`, { flag: "wx" })
    const taken = Effect.gen(function* () {
      const [pid = "", where = ""] = (yield* fs.readFileString(path)).trim().split(" ")
      if (where === host && /^\d+$/.test(pid) && Number(pid) !== process.pid && !isAlive(Number(pid))) {
        yield* fs.remove(path)
        return yield* write
      }
      return yield* new FileUnusable({
        path,
        detail:
          `another run (process ${pid || "?"} on ${where || "?"}) works on this plan. Wait for it; ` +
          "if it is dead, remove this file."
      })
    })
    const acquire = write.pipe(
      Effect.catchIf(
        (e) => e._tag === "SystemError" && e.reason === "AlreadyExists",
        () => taken
      ),
      Effect.mapError((e) =>
        e._tag === "FileUnusable"
          ? e
          : new FileUnusable({
              path: audit,
              detail: `the audit log cannot be written (${e.message}). Nothing is sent without it: give another --audit.`
            })
      )
    )
    yield* Effect.acquireRelease(acquire, () => Effect.ignore(fs.remove(path)))
  })
