import { build } from "esbuild"
import { mkdir, mkdtemp, rm } from "node:fs/promises"
import path from "node:path"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  interface ProvidedContext {
    readonly programs: string
  }
}

/**
 * The programs that a package's tests start as processes of their own: bundled from their sources, once in a run. From
 * source each start compiles and loads some two thousand files again, five times the work.
 */
const programs: Record<string, Record<string, string>> = {
  "@effect-sqs/cli": { "effect-sqs": "src/bin/effect-sqs.ts", sqs: "../testing/src/bin/sqs.ts" },
  "@effect-sqs/report-worker": { main: "src/main.ts", renderThread: "src/render/renderThread.ts" }
}

/** Native code, and what reads files beside itself. */
const external = ["libsql", "@libsql/client", "pg-native", "pdfkit", "fontkit", "@embedpdf/fonts-kr"]

const toRequire =
  "import * as forRequire from 'node:module'; const require = forRequire.createRequire(import.meta.url);"

export default async function setup(project: TestProject) {
  const { root } = project.config
  const entryPoints = programs[project.name]
  if (entryPoints === undefined) throw new Error(`No programs are known of ${project.name}`)
  // as deep as the folders of src, so that what a module looks for by a path from its own is where it looks
  await mkdir(path.join(root, "dist"), { recursive: true })
  const outdir = await mkdtemp(path.join(root, "dist/programs-"))
  await build({
    absWorkingDir: root,
    entryPoints,
    outdir,
    external,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    conditions: ["@effect-sqs/source"],
    // the AWS SDK's parts are of both kinds
    banner: { js: toRequire },
    logLevel: "warning"
  })
  project.provide("programs", outdir)
  return () => rm(outdir, { recursive: true, force: true })
}
