#!/usr/bin/env node
/** The program: `report-worker --help`. */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Main from "./cli/Main.js"

// a reader that has seen enough, as in `report-worker list | head`
process.stdout.on("error", (e: NodeJS.ErrnoException) => process.exit(e.code === "EPIPE" ? 0 : 1))

const { exitCodeOf, program } = Main.make(process.argv)

NodeRuntime.runMain(program, {
  disableErrorReporting: true,
  disablePrettyLogger: true,
  teardown: (exit, onExit) => onExit(exitCodeOf(exit))
})
