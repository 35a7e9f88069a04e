// Compiles every example: the `@example` of public docstrings and the ```ts fences of the docs.
// A fence that is a fragment says so: ```ts fragment
import { spawnSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import path from "node:path"

const root = path.resolve(import.meta.dirname, "..")
const out = path.join(root, ".examples")

const find = (dir, ending) => {
  const found = spawnSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", dir], {
    cwd: root,
    encoding: "utf8"
  })
  return found.stdout.split("\n").filter((f) => f.endsWith(ending))
}

const examples = []
for (const file of ["packages", "apps"].flatMap((d) => find(d, ".ts")).filter((f) => f.includes("/src/"))) {
  const source = readFileSync(path.join(root, file), "utf8")
  for (const comment of source.matchAll(/\/\*\*([\s\S]*?)\*\//g)) {
    const at = comment[1].indexOf("@example")
    if (at < 0) continue
    const text = comment[1].slice(at + "@example".length).split(/^\s*\*\s*@\w/m)[0]
    const code = text
      .split("\n")
      .map((l) => l.replace(/^\s*\* ?/, ""))
      .filter((l) => !/^```/.test(l))
      .join("\n")
    examples.push({ file, line: source.slice(0, comment.index + at).split("\n").length, code })
  }
}
for (const file of [
  ...find("README.md", ".md"),
  ...find("docs", ".md"),
  ...find("packages", ".md"),
  ...find("apps", ".md")
]) {
  const source = readFileSync(path.join(root, file), "utf8")
  for (const fence of source.matchAll(/^```ts\n([\s\S]*?)^```/gm)) {
    examples.push({ file, line: source.slice(0, fence.index).split("\n").length + 1, code: fence[1] })
  }
}

rmSync(out, { recursive: true, force: true })
mkdirSync(out, { recursive: true })
const names = new Map()
for (const { code, file, line } of examples) {
  const name = `${file.replace(/[^A-Za-z0-9]+/g, "_")}_${line}.ts`
  names.set(name, `${file}:${line}`)
  writeFileSync(path.join(out, name), `${code}\nexport {}\n`)
}
writeFileSync(
  path.join(out, "tsconfig.json"),
  JSON.stringify({
    extends: "../tsconfig.base.json",
    compilerOptions: {
      noEmit: true,
      composite: false,
      declaration: false,
      declarationMap: false,
      noUnusedLocals: false,
      lib: ["ES2023", "DOM"]
    },
    include: ["*.ts"]
  })
)
const tsc = spawnSync(
  process.execPath,
  [path.join(root, "node_modules/typescript/bin/tsc"), "-p", out, "--pretty", "false"],
  { encoding: "utf8" }
)
const text = `${tsc.stdout}${tsc.stderr}`.replace(
  /^(?:\.examples\/)?([\w]+\.ts)\((\d+)/gm,
  (_, name, line) => `example of ${names.get(name) ?? name}, its line ${line} (`
)
if (tsc.status !== 0) process.stdout.write(text)
process.stdout.write(`${examples.length} examples ${tsc.status === 0 ? "compile" : "checked: some do not compile"}\n`)
process.exit(tsc.status === 0 ? 0 : 1)
