import { defineConfig, mergeConfig } from "vitest/config"
import shared from "./vitest.shared.js"

/** The tests in a real browser, which has to be there: Debian's package chromium. */
export default defineConfig({
  test: {
    fileParallelism: false,
    projects: [
      mergeConfig(shared, {
        test: { name: "browser", include: ["apps/*/test-browser/**/*.test.ts"], testTimeout: 120_000 }
      })
    ]
  }
})
