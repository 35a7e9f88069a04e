/**
 * Builds the page with esbuild. Run as a program it writes the page beside the compiled worker, as a part of `npm run build`;
 * a worker that runs from source calls `build` itself, when it starts.
 */
import * as esbuild from "esbuild"
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import path from "node:path"
import { fileURLToPath } from "node:url"

const here = path.dirname(fileURLToPath(import.meta.url))
const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8" }

/** JSX as calls of one short function: what the types say, preact's "automatic" runtime, takes more */
const shortJsx = {
  name: "short jsx",
  setup: ({ initialOptions, onLoad }) => {
    Object.assign(initialOptions, { jsx: "transform", jsxFactory: "h", jsxFragment: "Fragment", tsconfigRaw: {} })
    onLoad({ filter: /\.tsx$/ }, async ({ path: file }) => ({
      contents: `import { Fragment, h } from "preact"\n${await readFile(file, "utf8")}`,
      loader: "tsx"
    }))
  }
}

/** @returns {Promise<Array<{ path: string, contentType: string, bytes: Uint8Array, isFixed: boolean }>>} */
export const build = async () => {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: here,
    entryPoints: { page: "src/main.tsx" },
    entryNames: "[name]-[hash]",
    outdir: "assets",
    write: false,
    bundle: true,
    minify: true,
    format: "esm",
    splitting: true,
    chunkNames: "[name]-[hash]",
    target: "es2022",
    plugins: [shortJsx],
    define: { "window.__PREACT_SIGNALS_DEVTOOLS__": "false" },
    // Korean as it is, not by its numbers
    charset: "utf8",
    legalComments: "none",
    logLevel: "silent"
  })
  // its name changes with its content
  const assets = outputFiles.map(({ contents, path: file }) => ({
    path: `/assets/${path.basename(file)}`,
    contentType: types[path.extname(file)],
    bytes: contents,
    isFixed: true
  }))
  const of = (extension) =>
    assets.find((asset) => asset.path.startsWith("/assets/page-") && asset.path.endsWith(extension)).path
  const html = (await readFile(path.join(here, "index.html"), "utf8"))
    .replace("$script", of(".js"))
    .replace("$style", of(".css"))
  return [
    ...assets,
    { path: "/", contentType: "text/html; charset=utf-8", bytes: Buffer.from(html), isFixed: false },
    {
      path: "/icon.svg",
      contentType: "image/svg+xml",
      bytes: await readFile(path.join(here, "icon.svg")),
      isFixed: false
    }
  ]
}

/** one file for each, and a list of them */
const writeTo = async (folder) => {
  const assets = await build()
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const list = assets.map(({ bytes: _, ...asset }, i) => ({ ...asset, file: `${i}` }))
  await Promise.all(assets.map(({ bytes }, i) => writeFile(path.join(folder, `${i}`), bytes)))
  await writeFile(path.join(folder, "list.json"), JSON.stringify(list))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeTo(path.join(here, "..", "dist", "web"))
