import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { describe as settings } from "../src/Settings.js"

const read = (file: string) => readFileSync(new URL(`../../../${file}`, import.meta.url), "utf8")

/** that of the machine which runs the test */
const general = settings.replace(/\d+: one less than this machine has cores/, "one less than the machine has cores")

const keys = [...settings.matchAll(/^ {2}(REPORT_\w+)/gm)].map(([, key]) => key!)

describe("the page about the report worker", () => {
  it("has the table of settings as the program tells it", () => {
    assert.include(read("docs/report-worker.md"), general)
  })

  it("and the files for a deploy set nothing that the program does not know", () => {
    for (const file of ["Dockerfile", "compose.yaml", "kubernetes/worker.yaml"]) {
      const set = [...read(`apps/report-worker/deploy/${file}`).matchAll(/^[^#]*?\b(REPORT_\w+)[=:, ]/gm)]
      assert.isNotEmpty(set, file)
      for (const [, key] of set) assert.include(keys, key!, file)
    }
  })
})
