/** The list of public names in docs/api.md is the modules' own. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import path from "node:path"

const src = path.join(import.meta.dirname, "../src")
const page = readFileSync(path.join(import.meta.dirname, "../../../docs/api.md"), "utf8")

/** What a module exports, without what is marked internal. */
const exportsOf = (file: string): ReadonlyArray<string> => {
  const names = new Set<string>()
  const text = readFileSync(path.join(src, file), "utf8")
  for (const [, comment, name] of text.matchAll(
    /(\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?^export (?:const|class|interface|type) (\w+)/gm
  )) {
    if (!comment?.includes("@internal")) names.add(name!)
  }
  for (const [, renamed] of text.matchAll(/^\s+\w+_ as (\w+)$/gm)) names.add(renamed!)
  return [...names].sort()
}

const listed = new Map(
  [...page.slice(page.indexOf("## Every name")).matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, module, names]) => [
    module!,
    // what stands in brackets explains a name
    [...names!.replace(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, name]) => name!).sort()
  ])
)

describe("docs/api.md", () => {
  const modules = readdirSync(src).filter((f) => /^[A-Z]\w+\.ts$/.test(f))
  for (const file of modules) {
    it(`lists all of ${file}, and nothing else`, () => {
      assert.deepStrictEqual(listed.get(file.slice(0, -3)), exportsOf(file))
    })
  }

  it("lists no other module", () => {
    assert.deepStrictEqual([...listed.keys()].sort(), modules.map((f) => f.slice(0, -3)).sort())
  })

  it("names what there is: each Module.name of its text is exported", () => {
    for (const [, module, name] of page.matchAll(/`([A-Z]\w+)\.(\w+)/g)) {
      if (module === "Effect" || module === "Context") continue
      assert.include(exportsOf(`${module}.ts`), name, `${module}.${name}`)
    }
  })
})
