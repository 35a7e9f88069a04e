/** The command line without a process of its own, on an SQLite file of its own. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import path from "node:path"
import * as Main from "../src/cli/Main.js"
import { temporaryFolder } from "./jobs/backend.js"

export interface Ended {
  readonly code: number
  readonly out: string
  readonly err: string
}

/** Runs command lines with these settings. */
export const withSettings =
  (settings: Readonly<Record<string, string>>) =>
  (...args: ReadonlyArray<string>): Effect.Effect<Ended> =>
    Effect.gen(function* () {
      let out = ""
      let err = ""
      const { exitCodeOf, program } = Main.make(["node", "report-worker", ...args])
      const given = yield* Console.consoleWith(Effect.succeed)
      const exit = yield* program.pipe(
        Effect.withConsole({
          ...given,
          log: (text: string) => Effect.sync(() => void (out += `${text}\n`)),
          error: (text: string) => Effect.sync(() => void (err += `${text}\n`))
        }),
        Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(settings)))),
        Effect.exit
      )
      return { code: exitCodeOf(Exit.asVoid(exit)), out, err }
    })

export const fresh = Effect.map(temporaryFolder, (folder) => ({
  folder,
  file: path.join(folder, "jobs.db"),
  run: withSettings({ REPORT_OUT: folder })
}))
