/** The program as a file that Node runs, made from its sources before the tests. */
import path from "node:path"
import { pathToFileURL } from "node:url"
import { inject } from "vitest"

declare module "vitest" {
  interface ProvidedContext {
    readonly programs: string
  }
}

export const main = path.join(inject("programs"), "main.js")

const source = new URL("../src/main.ts", import.meta.url).href

const hook = `
export const resolve = (specifier, context, next) =>
  specifier === ${JSON.stringify(source)}
    ? { url: ${JSON.stringify(pathToFileURL(main).href)}, shortCircuit: true }
    : next(specifier, context)`

const asUrl = (code: string) => `data:text/javascript,${encodeURIComponent(code)}`

/** Options of Node with which `src/main.ts` is that file, for who starts its own program again from source. */
export const mainFromSource = [
  `--import=${asUrl(`import { register } from "node:module"; register(${JSON.stringify(asUrl(hook))})`)}`
]
