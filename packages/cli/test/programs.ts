/** The commands as files that Node runs, made from their sources before the tests. */
import path from "node:path"
import { inject } from "vitest"

declare module "vitest" {
  interface ProvidedContext {
    readonly programs: string
  }
}

export const program = (name: "effect-sqs" | "sqs") => path.join(inject("programs"), `${name}.js`)
