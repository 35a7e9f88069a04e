#!/usr/bin/env node
/**
 * The operator's tool as a command: `effect-sqs --help`.
 *
 * @since 0.1.0
 */
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Main from "../Main.js"

// a reader that has seen enough, as in `effect-sqs … | head`
process.stdout.on("error", (e: NodeJS.ErrnoException) => process.exit(e.code === "EPIPE" ? 0 : 1))

NodeRuntime.runMain(Main.run(process.argv), {
  disableErrorReporting: true,
  teardown: (exit, onExit) => onExit(Main.exitCodeOf(exit))
})
