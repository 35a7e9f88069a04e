// Looks at what the demo made with other people's tools: each PDF opens, has pages, its table and, in Korean, Hangul.
// Needs pdftotext and pdftoppm (Debian: poppler-utils).
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import path from "node:path"

const root = path.resolve(import.meta.dirname, "../../..")
const facts = JSON.parse(readFileSync(path.join(root, "apps/report-worker/out/demo.json"), "utf8"))
const run = (command, ...args) => {
  const done = spawnSync(command, args, { encoding: "utf8", maxBuffer: 256 * 1024 * 1024 })
  if (done.status !== 0) throw new Error(`${command} ${args.join(" ")}: ${done.error?.message ?? done.stderr}`)
  return done.stdout
}

const faults = []
const expect = (what, held) => held || faults.push(what)

expect(`12 entries, not ${facts.length}`, facts.length === 12)
const reports = facts.filter((f) => f.artifact !== null)
expect(`10 reports, not ${reports.length}`, reports.length === 10)
for (const { artifact } of reports) {
  const file = path.join(root, artifact)
  const text = run("pdftotext", "-layout", file, "-")
  const pages = text.split("\f").length - 1
  expect(`${artifact}: several pages, not ${pages}`, pages >= 2)
  expect(`${artifact}: rows with airport codes`, (text.match(/^\s*[A-Z]{3}\s+\S.*\d/gm) ?? []).length >= 10)
  if (/-ko-/.test(artifact)) expect(`${artifact}: Hangul`, /항공편 지연 보고서/.test(text))
  run("pdftoppm", "-r", "20", "-png", "-f", "1", "-l", "1", file, path.join(tmpdir(), "check-demo"))
}
if (faults.length > 0) {
  process.stderr.write(`${faults.join("\n")}\n`)
  process.exit(1)
}
process.stdout.write(`${reports.length} reports open, with their tables and Hangul\n`)
