// Sums the test counts of vitest's JSON reports: one closing line for all runs.
import { readFileSync } from "node:fs"

const reports = process.argv.slice(2).map((file) => JSON.parse(readFileSync(file, "utf8")))
const sum = (key) => reports.reduce((n, report) => n + report[key], 0)
const skipped = sum("numPendingTests") + sum("numTodoTests")
process.stdout.write(`${sum("numPassedTests")} passed, ${sum("numFailedTests")} failed, ${skipped} skipped\n`)
if (sum("numFailedTests") > 0 || sum("numPassedTests") === 0) process.exit(1)
