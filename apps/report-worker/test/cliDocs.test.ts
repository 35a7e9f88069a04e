import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"
import { fresh } from "./cli.support.js"

const page = readFileSync(new URL("../../../docs/report-worker-cli.md", import.meta.url), "utf8")

/** `### command`, then what its help says between usage and exit codes */
const helps = [...page.matchAll(/^### (.+)\n\n```text\n([^]*?)\n```$/gm)].map(([, command, text]) => [command!, text!])

describe("the page about the command line", () => {
  it.scoped("has the flags of every command, as --help tells them", () =>
    Effect.gen(function* () {
      const { run } = yield* fresh
      const root = yield* run("--help")
      const commands = [...root.out.matchAll(/^ {2}- ([a-z]+(?: [a-z][a-z-]*)?)/gm)].map(([, name]) => name!)
      assert.sameMembers(
        commands.filter((name) => name !== "submit" && name !== "worker"),
        helps.map(([command]) => command!)
      )
      for (const [command, text] of helps) {
        const { out } = yield* run(...command!.split(" "), "--help")
        assert.strictEqual(out.slice(out.indexOf("USAGE"), out.indexOf("EXIT CODES")).trim(), text, command)
      }
      const codes = [...root.out.matchAll(/^ {2}- (\d+) {2}(.+)$/gm)].map(([, code, text]) => `| ${code} | ${text} |`)
      assert.lengthOf(codes, 6)
      for (const code of codes) assert.include(page.replaceAll("`", ""), code)
    })
  )

  it.scoped("shows real output in its examples", () =>
    Effect.gen(function* () {
      const { folder, run } = yield* fresh
      const file = path.join(folder, "jobs.jsonl")
      const job = { report: "flight-delays", locale: "en", period: "2001-02" }
      const jobs = [
        { ...job, jobId: "a" },
        { ...job, jobId: "../b" },
        { ...job, jobId: "c", report: "weather" }
      ]
      writeFileSync(file, jobs.map((each) => JSON.stringify(each)).join("\n"))
      const examples = [...page.matchAll(/^\$ report-worker (.+)\n((?:(?!\$|```).*\n)+)/gm)]
      assert.lengthOf(examples, 7)
      for (const [, line, shown] of examples) {
        const { err, out } = yield* run(...line!.replace("jobs.jsonl", file).split(" "))
        assert.strictEqual((out + err).replaceAll(file, "jobs.jsonl"), shown)
      }
    })
  )
})
