import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.js"

/**
 * Tests that need PostgreSQL: LEDGER_PG_URL, or a server that the setup starts from an installation it finds. One project
 * of its own: without `projects` the workspace file would be found and run.
 */
export default defineConfig({
  test: {
    projects: [
      mergeConfig(shared, {
        test: {
          name: "postgres",
          include: ["packages/*/test-pg/**/*.test.ts", "apps/*/test-pg/**/*.test.ts"],
          globalSetup: ["packages/ledger/test-pg/support/globalSetup.ts"],
          testTimeout: 60_000
        }
      })
    ]
  }
})
