import path from "node:path"
import { defaultServerConditions } from "vite"
import type { ViteUserConfig } from "vitest/config"

/** Source, not dist: the packages are tested as they are written. */
const conditions = ["@effect-sqs/source", ...defaultServerConditions]

export default {
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  esbuild: { target: "es2022" },
  test: {
    setupFiles: [path.join(import.meta.dirname, "vitest.setup.ts")],
    include: ["test/**/*.test.ts"],
    fakeTimers: { toFake: [] },
    testTimeout: 30_000
  }
} satisfies ViteUserConfig
