import { availableParallelism } from "node:os"
import path from "node:path"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"
import projects from "./vitest.workspace.js"

/** Those that take a quarter of a minute or more. One of them as the last would run alone. */
const long = [
  "packages/cli/test/deadLettersThousand.test.ts",
  "packages/cli/test/deadLettersRedrive.test.ts",
  "apps/report-worker/test/main.test.ts",
  "packages/cli/test/commandLine.test.ts",
  "apps/report-worker/test/drill.test.ts",
  "packages/cli/test/deadLettersKilled.test.ts",
  "packages/cli/test/deadLettersStopped.test.ts",
  "packages/cli/test/deadLettersLook.test.ts",
  "packages/cli/test/deadLettersUser.test.ts",
  "packages/cli/test/deadLettersFifo.test.ts",
  "apps/report-worker/test/cliProcess.test.ts",
  "apps/report-worker/test/http/sqlite.test.ts"
].map((file) => path.join(import.meta.dirname, file))

class LongFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const others = await super.sort(files.filter((file) => !long.includes(file.moduleId)))
    return [...long.flatMap((one) => files.filter((file) => file.moduleId === one)), ...others]
  }
}

export default defineConfig({
  test: {
    projects,
    // as many as processors, where Vitest would leave one idle: the long ones wait more than they compute
    maxWorkers: Math.max(2, availableParallelism()),
    sequence: { sequencer: LongFirst }
  }
})
