import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { gzipSync } from "node:zlib"
import * as Page from "../src/http/Page.js"

/** of what a browser loads to show the page in one language */
const mostBytes = 25_000

describe("the page's script", () => {
  it.effect("has 25 kB at most when it is compressed, whatever the language", () =>
    Effect.gen(function* () {
      const scripts = (yield* Page.load)
        .filter(({ path }) => path.endsWith(".js"))
        .map(({ bytes, path }) => ({ path, bytes: gzipSync(bytes, { level: 9 }).length }))
      const sizeOf = (name: string) =>
        scripts.filter(({ path }) => path.startsWith(`/assets/${name}-`)).reduce((n, { bytes }) => n + bytes, 0)
      const languages = ["en", "ko"]
      assert.strictEqual(scripts.length, 1 + languages.length)
      for (const language of languages) {
        assert.isAbove(sizeOf(language), 0)
        assert.isAtMost(sizeOf("page") + sizeOf(language), mostBytes, language)
      }
    })
  )
})
