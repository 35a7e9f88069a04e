/** A real Chromium: the one of the system. */
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core"

const executablePath = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find((file) =>
  existsSync(file)
)

export const browser = Effect.acquireRelease(
  Effect.promise((): Promise<Browser> => {
    if (executablePath === undefined) throw new Error("no Chromium: apt-get install -y chromium")
    return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] })
  }),
  (opened) => Effect.promise(() => opened.close())
)

/** on a busy machine */
const patienceMs = 20_000

export interface Look {
  readonly language?: "en" | "ko"
  readonly theme?: "light" | "dark"
  readonly width?: number
  readonly height?: number
}

export interface Opened {
  readonly page: Page
  readonly context: BrowserContext
  /** what went wrong in the page: a script, a blocked resource */
  readonly faults: ReadonlyArray<string>
}

/** a page of its own, in a language and a theme */
export const open = (from: Browser, url: string, look: Look = {}) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async (): Promise<Opened> => {
        const context = await from.newContext({
          viewport: { width: look.width ?? 1280, height: look.height ?? 900 },
          colorScheme: look.theme ?? "light",
          locale: look.language === "ko" ? "ko-KR" : "en-GB",
          timezoneId: "UTC",
          acceptDownloads: true
        })
        const page = await context.newPage()
        page.setDefaultTimeout(patienceMs)
        const faults: Array<string> = []
        page.on("pageerror", (e) => faults.push(e.message))
        page.on("console", (m) => {
          if (m.type() === "error" && !/Failed to load resource/.test(m.text())) faults.push(m.text())
        })
        await page.goto(url)
        return { page, context, faults }
      }),
      ({ context }) => Effect.promise(() => context.close())
    ),
    (opened) => opened
  )
