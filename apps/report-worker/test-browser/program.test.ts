import * as SqsServer from "@effect-sqs/testing/SqsServer"
import * as VirtualSqs from "@effect-sqs/testing/VirtualSqs"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type ChildProcess, spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { createServer, type AddressInfo } from "node:net"
import { fileURLToPath } from "node:url"
import { temporaryFolder } from "../test/jobs/backend.js"
import { browser, open } from "./browser.js"

const main = fileURLToPath(new URL("../src/main.ts", import.meta.url))

/** a port that is free now */
const freePort = Effect.async<number>((resume) => {
  const server = createServer().listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo
    server.close(() => resume(Effect.succeed(port)))
  })
})

/** a local SQS, and workers of one folder that talk to it */
const local = Effect.gen(function* () {
  const queues = ["jobs-dlq", { name: "jobs", deadLetters: { queue: "jobs-dlq", maxReceiveCount: 3 } }]
  const context = yield* Layer.build(SqsServer.layer().pipe(Layer.provideMerge(VirtualSqs.layer({ queues }))))
  const out = yield* temporaryFolder
  const port = yield* freePort
  const { AWS_PROFILE: _, ...inherited } = process.env
  const env = {
    ...inherited,
    AWS_ENDPOINT_URL: Context.get(context, SqsServer.SqsServer).url,
    AWS_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "test",
    AWS_SECRET_ACCESS_KEY: "test",
    REPORT_QUEUE: "jobs",
    REPORT_OUT: out,
    REPORT_THREADS: "1",
    REPORT_WAIT_TIME: "1 second",
    REPORT_VISIBILITY: "6 seconds",
    REPORT_CLAIM: "6 seconds",
    REPORT_PAGE: String(port)
  }
  /** one that receives */
  const worker = Effect.gen(function* () {
    const child = yield* Effect.acquireRelease(
      Effect.sync((): ChildProcess =>
        spawn(process.execPath, ["--conditions=@effect-sqs/source", "--import", "tsx", main, "worker"], {
          env,
          stdio: ["ignore", "pipe", "inherit"]
        })
      ),
      (started) => Effect.sync(() => started.kill("SIGKILL"))
    )
    yield* Effect.async<void>((resume) => {
      let said = ""
      child.stdout!.on("data", (chunk) => {
        said += String(chunk)
        if (said.includes("waiting for jobs")) resume(Effect.void)
      })
    })
    return child
  })
  return { worker, url: `http://127.0.0.1:${port}` }
})

const ended = (child: ChildProcess) =>
  Effect.async<number | null>((resume) => void child.on("close", (code) => resume(Effect.succeed(code))))

describe("the worker and its page", () => {
  it.scopedLive(
    "submit, see it run and beat, download; the worker is killed and another one takes over; SIGTERM ends it",
    () =>
      Effect.gen(function* () {
        const { url, worker } = yield* local
        const first = yield* worker
        const chromium = yield* browser
        const { faults, page } = yield* open(chromium, `${url}/#/jobs`)
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "New job" }).click()
          await page.getByLabel("Id", { exact: true }).fill("seen")
          await page.getByLabel("Airport").fill("DEN")
          await page.getByLabel("Pages a second, at most").fill("1.5")
          await page.getByRole("button", { name: "Submit" }).click()
          await page.getByRole("heading", { name: "seen" }).waitFor()
          await page.goto(`${url}/#/now`)
          await page.getByRole("img", { name: /^seen: held, received .* heartbeats [1-9]/ }).waitFor()
          await page.goto(`${url}/#/jobs/seen`)
          const download = page.waitForEvent("download")
          await page.getByRole("link", { name: "Download" }).click()
          const file = await (await download).path()
          assert.strictEqual(readFileSync(file).subarray(0, 5).toString("latin1"), "%PDF-")
          assert.match((await download).suggestedFilename(), /^seen-[0-9a-f]{12}\.pdf$/)

          // shown by the browser itself, which keeps no file for that
          const shown = page.context().waitForEvent("page")
          const asked = page.context().waitForEvent("response", (r) => r.url().endsWith("/report?inline=yes"))
          await page.getByRole("link", { name: "Open" }).click()
          const viewer = await shown
          await viewer.waitForURL(/\/report\?inline=yes$/)
          assert.strictEqual((await asked).status(), 200)
          await viewer.waitForFunction("document.contentType === 'application/pdf' && document.body !== null")
          // its viewer is a frame in the report, and has the report in a frame of its own
          const report = viewer.url()
          const isViewed = () => viewer.frames().filter((frame) => frame.url() === report).length === 2
          while (!isViewed()) await viewer.waitForEvent("frameattached").catch(() => undefined)
          assert.isTrue(viewer.frames().some((frame) => frame.url().startsWith("chrome-extension://")))
          await viewer.close()

          // another one, slow enough to be killed in
          await page.goto(`${url}/#/jobs`)
          await page.getByRole("button", { name: "New job" }).click()
          await page.getByLabel("Id", { exact: true }).fill("taken-over")
          await page.getByLabel("Pages a second, at most").fill("3")
          await page.getByLabel("Airport").fill("DEN")
          await page.getByRole("button", { name: "Submit" }).click()
          await page.locator(".live progress").waitFor()
        })
        first.kill("SIGKILL")
        yield* Effect.promise(() => page.getByText("Not connected. Trying again…").waitFor())
        const second = yield* worker
        yield* Effect.promise(async () => {
          // the same page, without a reload
          await page.getByText("Not connected. Trying again…").waitFor({ state: "detached" })
          await page.getByText("run 2 · receive 2").waitFor()
          await page.getByRole("link", { name: "Download" }).waitFor()
          await page.goto(`${url}/#/now`)
          await page.locator("ul .lease.over", { hasText: "taken-over" }).waitFor()
        })
        assert.deepStrictEqual(faults, [])
        // the stream of events is open
        const end = yield* Effect.fork(ended(second))
        yield* Effect.yieldNow()
        second.kill("SIGTERM")
        assert.strictEqual(yield* end.await.pipe(Effect.flatten), 0)
      })
  )
})
