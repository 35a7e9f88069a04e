import { Fault, Invariants } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

const doc = readFileSync(new URL("../../../docs/testing.md", import.meta.url), "utf8")

describe("docs/testing.md", () => {
  it("shows the ten lines that are run as a test", () => {
    const test = readFileSync(new URL("tenLines.test.ts", import.meta.url), "utf8")
    assert.strictEqual(/```ts\n([\s\S]*?)```/.exec(doc)?.[1], test)
    const body = /function\* \(\) \{\n([\s\S]*?)\n {2}\}\)/.exec(test)?.[1]?.split("\n") ?? []
    assert.isAtLeast(body.length, 5)
    assert.isAtMost(body.length, 10)
  })

  it("lists every invariant in its own words", () => {
    for (const { name, says } of Invariants.all) assert.include(doc, `| \`${name}\` | ${says} |`)
  })

  it("names every leaf and combinator of Fault", () => {
    for (const name of Object.keys(Fault).filter((n) => n !== "none"))
      assert.match(doc, new RegExp(`\`${name}[(\`]`), name)
  })
})
