import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.js"

/** Core's tests for Stryker. One project of its own: without `projects` the workspace file would be found and run. */
export default defineConfig({
  test: {
    projects: [
      mergeConfig(
        { ...shared, test: { ...shared.test, include: [] } },
        {
          test: {
            name: "core",
            include: ["packages/core/test/**/*.test.ts"],
            // the first reads the sources as text, and Stryker writes into them; the second needs sockets
            exclude: ["packages/core/test/api.test.ts", "packages/core/test/AwsSqs.network.test.ts"],
            // a mutant is switched on in the same process: what a test file has loaded may stay
            poolOptions: { threads: { isolate: false } }
          }
        }
      )
    ]
  }
})
