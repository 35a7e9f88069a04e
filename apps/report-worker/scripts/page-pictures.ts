/**
 * Makes pictures of every view of the operations page, in both languages and themes, on a telephone, a laptop and a 4K screen:
 *
 *   npm run page-pictures -- FOLDER [VIEW …]
 *
 * The page comes from the worker of `npm run demo -- --serve`, with its load, and from a second one that has nothing to do
 * and asks for tokens. It takes minutes: the load has to run for a while until everything can be seen.
 */
import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { spawn } from "node:child_process"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import path from "node:path"
import { fileURLToPath } from "node:url"
import type { Page } from "playwright-core"
import { browser, open } from "../test-browser/browser.js"

const [folder, ...wanted] = process.argv.slice(2)

const widths = [
  { width: 360, height: 740 },
  { width: 1280, height: 900 },
  { width: 3840, height: 2160 }
]
const languages = ["en", "ko"] as const
const themes = ["light", "dark"] as const

/** a long list is not wanted to its end */
const mostHeight = 2400

/** until the load has brought everything: runs enough for a hint, dead letters, an unknown outcome */
const loadSeconds = 100

const tokens = { ann: "a-token-for-the-pictures", bob: "another-token-for-pictures" }

interface View {
  readonly name: string
  readonly of: "demo" | "idle"
  /** brings the page there */
  readonly go: (page: Page, url: string) => Promise<void>
  /** only what is on the screen: what stands above the page has its place there */
  readonly isScreen?: boolean
}

interface Listed {
  readonly jobs: ReadonlyArray<{ readonly job: { readonly jobId: string }; readonly state: string }>
}

/** the API, as the page uses it */
const api = (page: Page, method: "GET" | "POST", route: string, body?: unknown): Promise<unknown> =>
  page.evaluate(
    ([m, r, b]) =>
      fetch(`/api${r}`, {
        method: m!,
        ...(b === undefined ? {} : { body: b, headers: { "content-type": "application/json" } })
      }).then((answer) => answer.json() as Promise<unknown>),
    [method, route, body === undefined ? undefined : JSON.stringify(body)] as const
  )

const jobEndingIn = async (page: Page, ending: RegExp) => {
  const { jobs } = (await api(page, "GET", "/jobs?limit=200")) as Listed
  const found = jobs.filter(({ job }) => ending.test(job.jobId))
  // one to which something has happened
  const told = found.find(({ state }) => state !== "queued" && state !== "accepted") ?? found[0]
  return told?.job.jobId
}

const at = (route: string, ready: string) => async (page: Page, url: string) => {
  await page.goto(`${url}/#/${route}`)
  await page.locator(ready).first().waitFor()
}

const job = (ending: RegExp) => async (page: Page, url: string) => {
  const id = await jobEndingIn(page, ending)
  await at(`jobs/${id}`, ".history li")(page, url)
}

const look = async (page: Page, url: string) => {
  await at("dead-letters", ".title button")(page, url)
  await page.locator(".title button").click()
  await page.locator("tbody tr").first().waitFor()
}

const logIn = (token: string) => async (page: Page) => {
  await page.locator("input[name=token]").fill(token)
  await page.locator("form.login button").click()
  await page.locator("nav").waitFor()
}

const views: ReadonlyArray<View> = [
  { name: "now", of: "demo", go: at("now", "ul .lease") },
  {
    name: "now-focus",
    of: "demo",
    isScreen: true,
    go: async (page, url) => {
      await at("now", "ul .lease")(page, url)
      await page.keyboard.press("Tab")
      await page.keyboard.press("Tab")
    }
  },
  { name: "jobs", of: "demo", go: at("jobs", "tbody tr") },
  {
    name: "jobs-none",
    of: "demo",
    go: async (page, url) => {
      await at("jobs", "tbody tr")(page, url)
      await page.locator("#search").fill("no-such-job")
      await page.locator(".empty").waitFor()
    }
  },
  { name: "job-running", of: "demo", go: job(/[1-9]0$/) },
  { name: "job-retried", of: "demo", go: job(/[^1-9]2$|12$/) },
  { name: "job-delivered", of: "demo", go: job(/[^1-9]4$|14$/) },
  { name: "job-failed", of: "demo", go: job(/9$/) },
  {
    name: "submit-error",
    of: "demo",
    isScreen: true,
    go: async (page, url) => {
      await at("jobs", "tbody tr")(page, url)
      await page.locator("button.primary").click()
      await page.locator("[name=jobId]").fill("den-2001-02")
      await page.locator("[name=airport]").fill("den")
      await page.locator("[name='webhook.url']").fill("http://127.0.0.1/hook")
      await page.locator("[name='webhook.statusUrl']").fill("ftp://example.org/status")
      await page.locator("dialog .actions .primary").click()
      await page.locator("dialog .error").first().waitFor()
    }
  },
  { name: "dead-letters-before", of: "demo", go: at("dead-letters", ".title button") },
  { name: "dead-letters", of: "demo", go: look },
  {
    name: "dead-letter-body",
    of: "demo",
    go: async (page, url) => {
      await look(page, url)
      await page.locator("tbody button").first().click()
      await page.locator("pre").waitFor()
    }
  },
  ...(["primary", "danger"] as const).map((name) => ({
    name: name === "primary" ? "redrive" : "discard",
    of: "demo" as const,
    isScreen: true,
    go: async (page: Page, url: string) => {
      await look(page, url)
      await page.locator("tbody input[type=checkbox]").first().check()
      await page.locator(`.bar .${name}`).click()
      await page.locator("dialog").waitFor()
    }
  })),
  { name: "review", of: "demo", go: at("review", "article") },
  {
    name: "verdict",
    of: "demo",
    isScreen: true,
    go: async (page, url) => {
      await at("review", "article")(page, url)
      await page.locator("article button").nth(1).click()
      await page.locator("dialog").waitFor()
    }
  },
  {
    name: "log",
    of: "demo",
    go: async (page, url) => {
      await api(page, "POST", "/consuming", { paused: true })
      await at("now", ".chip.paused")(page, url)
      await api(page, "POST", "/consuming", { paused: false })
      const queued = (await api(page, "GET", "/jobs?limit=1&state=queued")) as Listed
      for (const { job } of queued.jobs) await api(page, "POST", `/jobs/${job.jobId}/cancel`)
      await at("review", "article")(page, url)
      await page.locator("article button").first().click()
      await page.locator("dialog input").fill("seen in the receiver's books")
      await page.locator("dialog .primary").click()
      await page.locator("dialog").waitFor({ state: "detached" })
      for (const name of ["primary", "danger"]) {
        await look(page, url)
        await page.locator("tbody input[type=checkbox]").first().check()
        await page.locator(`.bar .${name}`).click()
        if (name === "danger") await page.locator("dialog input").fill("no airport has this code")
        await page.locator("dialog .primary").click()
        await page.locator("dialog").waitFor({ state: "detached" })
      }
      await at("log", "tbody tr")(page, url)
    }
  },
  { name: "sign-in", of: "idle", go: at("now", "form.login") },
  {
    name: "sign-in-wrong",
    of: "idle",
    isScreen: true,
    go: async (page, url) => {
      await at("now", "form.login")(page, url)
      await page.locator("input[name=token]").fill("not this one")
      await page.locator("form.login button").click()
      await page.locator(".login .error").waitFor()
    }
  },
  {
    name: "empty-now",
    of: "idle",
    go: async (page, url) => {
      await at("now", "form.login")(page, url)
      await logIn(tokens.ann)(page)
      await page.locator(".tile").first().waitFor()
    }
  },
  { name: "empty-jobs", of: "idle", go: at("jobs", ".empty") },
  {
    name: "empty-dead-letters",
    of: "idle",
    go: async (page, url) => {
      await at("dead-letters", ".title button")(page, url)
      await page.locator(".title button").click()
      await page.locator(".empty").waitFor()
    }
  },
  { name: "empty-review", of: "idle", go: at("review", ".empty") },
  { name: "empty-log", of: "idle", go: at("log", ".empty") },
  {
    name: "read-only-jobs",
    of: "idle",
    go: async (page, url) => {
      const common = { report: "flight-delays", locale: "en", period: "2001-02", airport: "DEN" }
      for (const jobId of ["den-2001-02", "no-such-airport"]) {
        const airport = jobId.startsWith("den") ? "DEN" : "ZZZ"
        await api(page, "POST", "/jobs", { job: { ...common, jobId, airport } })
      }
      await at("jobs", ".chip.failed")(page, url)
      await page.locator(".chip.completed").waitFor()
      await page.locator(".tools button").last().click()
      await page.locator("form.login").waitFor()
      await logIn(tokens.bob)(page)
      await page.locator("tbody tr").first().waitFor()
    }
  },
  { name: "read-only-dead-letters", of: "idle", go: look }
]

/** a port that is free now */
const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** a program of ours, until the scope ends */
const program = (file: string, argument: string, env: NodeJS.ProcessEnv) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      spawn(
        process.execPath,
        [
          "--conditions=@effect-sqs/source",
          "--import",
          "tsx",
          fileURLToPath(new URL(`../src/${file}`, import.meta.url)),
          argument
        ],
        { env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "inherit"] }
      )
    ),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )

const isReady = (url: string) =>
  Effect.promise(() =>
    fetch(`${url}/health/live`).then(
      ({ ok }) => ok,
      () => false
    )
  )

const answering = (url: string) =>
  Effect.repeat(Effect.delay(isReady(url), "200 millis"), { until: (is) => is }).pipe(Effect.timeout("3 minutes"))

const demo = Effect.gen(function* () {
  const port = yield* freePort
  const child = yield* program("demo.ts", "--serve", { REPORT_PAGE: String(port) })
  const url = `http://127.0.0.1:${port}`
  yield* answering(url)
  return { child, url }
})

const idle = Effect.gen(function* () {
  const queues = [
    "report-jobs-dlq",
    { name: "report-jobs", deadLetters: { queue: "report-jobs-dlq", maxReceiveCount: 3 } }
  ]
  const sqs = yield* Layer.build(SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ queues }))))
  const out = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(path.join(tmpdir(), "page-pictures-"))),
    (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
  )
  const port = yield* freePort
  yield* program("main.ts", "worker", {
    AWS_ENDPOINT_URL: Context.get(sqs, SqsServer.SqsServer).url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    REPORT_QUEUE: "report-jobs",
    REPORT_OUT: out,
    REPORT_THREADS: "1",
    REPORT_PAGE: String(port),
    REPORT_PAGE_TOKENS: `ann:${tokens.ann},bob:${tokens.bob}:read`
  })
  const url = `http://127.0.0.1:${port}`
  yield* answering(url)
  return url
})

/** One page in all its looks. Its own buttons change the language, so that it stays in its state. */
const pictures = async (page: Page, { isScreen, name }: View) => {
  for (const size of widths) {
    await page.setViewportSize(size)
    for (const language of languages) {
      // not by the mouse: it does not get behind a dialog
      await page.evaluate(
        `if (document.documentElement.lang !== "${language}") document.querySelector(".tools button").click()`
      )
      await page.locator(`html[lang=${language}]`).waitFor()
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme })
        await page.waitForTimeout(300)
        // by a higher window: what is out of sight is not drawn
        const height = isScreen === true ? 0 : await page.evaluate<number>("document.documentElement.scrollHeight")
        await page.setViewportSize({ ...size, height: Math.min(mostHeight, Math.max(size.height, height)) })
        await page.waitForTimeout(200)
        await page.screenshot({ path: path.join(folder!, `${name}-${size.width}-${language}-${theme}.png`) })
        await page.setViewportSize(size)
      }
    }
  }
  await page.setViewportSize(widths[1]!)
}

const main = Effect.gen(function* () {
  mkdirSync(folder!, { recursive: true })
  const isWanted = (name: string) => wanted.length === 0 || wanted.includes(name)
  const busy = yield* demo
  const quiet = yield* idle
  yield* Console.log(`the demo's load runs for ${loadSeconds} s …`)
  yield* Effect.sleep(`${loadSeconds} seconds`)
  const chromium = yield* browser
  const pages = { demo: yield* open(chromium, `${busy.url}/#/now`), idle: yield* open(chromium, quiet) }
  const urls = { demo: busy.url, idle: quiet }
  for (const view of views) {
    // what follows needs the login, and the jobs
    if (!isWanted(view.name) && !/^(empty-now|read-only-jobs)$/.test(view.name)) continue
    const { page } = pages[view.of]
    const made = Effect.promise(async () => {
      // from its beginning: nothing is left of the view before
      await page.goto("about:blank")
      await page.goto(urls[view.of])
      await page.locator("main > *").first().waitFor()
      await view.go(page, urls[view.of])
      if (isWanted(view.name)) await pictures(page, view)
    })
    yield* made.pipe(
      Effect.andThen(Console.log(view.name)),
      Effect.catchAllDefect((e) => Console.error(`${view.name}: ${String(e)}`))
    )
  }
  const lost = { name: "now-lost", of: "demo", go: at("now", "ul .lease") } as const
  if (isWanted(lost.name)) {
    yield* Effect.promise(() => lost.go(pages.demo.page, busy.url))
    busy.child.kill("SIGKILL")
    yield* Effect.promise(async () => {
      await pages.demo.page.locator(".offline").waitFor()
      await pictures(pages.demo.page, lost)
    })
    yield* Console.log(lost.name)
  }
}).pipe(Effect.scoped)

const usage = Effect.suspend(() => {
  process.exitCode = 2
  return Console.error(
    `npm run page-pictures -- FOLDER [VIEW …]\nviews: ${views.map(({ name }) => name).join(" ")} now-lost`
  )
})

NodeRuntime.runMain(folder === undefined ? usage : main)
