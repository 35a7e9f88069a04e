import { ConsumerEvent } from "@effect-sqs/core/ConsumerEvent"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { assert, describe, it } from "@effect/vitest"
import type { Browser, Page } from "playwright-core"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { Live } from "../src/http/Live.js"
import * as Tokens from "../src/http/Tokens.js"
import { JobStore } from "../src/jobs/JobStore.js"
import { namespaces } from "../src/Policies.js"
import { type Options, queue, site, TheSite, until } from "../test/http/harness.js"
import { browser, type Look, open } from "./browser.js"
import { busy, jobOf, letter, playing, send, undecided } from "./stage.js"

class Chromium extends Context.Tag("test/Chromium")<Chromium, Browser>() {}

const on = (options: Options = {}) => Layer.merge(site(options), Layer.scoped(Chromium, browser))

/** a page that is used, and that nothing goes wrong in */
const using = (look: Look, path: string, use: (page: Page, url: string) => Promise<void>) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { url } = yield* TheSite
      const { faults, page } = yield* open(yield* Chromium, `${url}/#/${path}`, look)
      yield* Effect.promise(() => use(page, url))
      assert.deepStrictEqual(faults, [])
    })
  )

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

/** what axe finds wrong, as sentences; in a world of its own, since the page runs no scripts of others */
const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  const session = await page.context().newCDPSession(page)
  const { frameTree } = await session.send("Page.getFrameTree")
  const { executionContextId } = await session.send("Page.createIsolatedWorld", { frameId: frameTree.frame.id })
  const run = async (expression: string) => {
    const { exceptionDetails, result } = await session.send("Runtime.evaluate", {
      expression,
      contextId: executionContextId,
      awaitPromise: true,
      returnByValue: true
    })
    if (exceptionDetails !== undefined)
      throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text)
    return result.value as unknown
  }
  await run(axe)
  return (await run(`axe.run(document).then((r) => {
    if (r.passes.length < 10) throw new Error("axe looked at next to nothing")
    return r.violations.flatMap((v) => v.nodes.map((n) => v.id + ": " + n.html.slice(0, 160) + " — " + n.failureSummary))
  })`)) as ReadonlyArray<string>
}

const tokens = Tokens.parse("ann:a-token-that-is-long-enough,bob:another-one-that-is-long-too:read")!

describe("the page", () => {
  const looks = (["en", "ko"] as const).flatMap((language) =>
    (["light", "dark"] as const).map((theme) => ({ language, theme }))
  )
  it.scopedLive("has nothing that axe objects to: every part, both languages, both themes", () =>
    Effect.gen(function* () {
      yield* busy
      const over = yield* Deferred.make<void>()
      yield* playing({ long: { pages: 2000, pause: "200 millis" } }, over)
      yield* send(jobOf("long"))
      const wrong: Array<string> = []
      for (const look of looks) {
        // one that ends: it stays on the page for a minute
        yield* send(jobOf(`short-${look.language}-${look.theme}`))
        yield* using(look, "now", async (page, url) => {
          const check = async (where: string) => {
            for (const found of await violations(page)) wrong.push(`${look.language} ${look.theme} ${where}: ${found}`)
          }
          await page.locator("ul .lease.over").first().waitFor()
          await check("now")
          await page.goto(`${url}/#/jobs`)
          await page.locator("tbody tr").first().waitFor()
          await check("jobs")
          await page.locator("button.primary").click()
          await page.locator("dialog").waitFor()
          await check("submit")
          await page.keyboard.press("Escape")
          await page.goto(`${url}/#/jobs/flights-2001-0`)
          await page.locator(".history li").first().waitFor()
          await check("job")
          await page.goto(`${url}/#/dead-letters`)
          await page.locator(".title button").click()
          await page.locator("tbody tr").first().waitFor()
          await page.locator("tbody button").first().click()
          await page.locator("pre").waitFor()
          await check("dead letters")
          await page.goto(`${url}/#/review`)
          await page.locator("article").first().waitFor()
          await page.locator("article button").first().click()
          await check("verdict")
          await page.keyboard.press("Escape")
          await page.goto(`${url}/#/log`)
          await page.locator("h1").waitFor()
          await check("log")
        })
      }
      yield* Deferred.succeed(over, undefined)
      assert.deepStrictEqual(wrong, [])
    }).pipe(Effect.scoped, Effect.provide(on()))
  )

  it.scopedLive("takes a job by its form, tells what is wrong with it, and shows it run", () =>
    Effect.gen(function* () {
      yield* using({}, "jobs", async (page) => {
        await page.getByRole("button", { name: "New job" }).click()
        await page.getByLabel("Id", { exact: true }).fill("typed-1")
        await page.getByLabel("Airport").fill("de")
        await page.getByRole("button", { name: "Submit" }).click()
        await page.getByText('expected a code of three capital letters such as "DEN", not "de"').waitFor()
        await page.getByLabel("Airport").fill("DEN")
        await page.getByRole("button", { name: "Submit" }).click()
        await page.getByRole("heading", { name: "typed-1" }).waitFor()
        await page.getByRole("status").getByText("typed-1 is accepted.").waitFor()
      })
      const jobs = yield* JobStore
      assert.deepStrictEqual(
        (yield* jobs.list({ limit: 10 })).map(({ job }) => [job.jobId, job.report === "flight-delays" && job.airport]),
        [["typed-1", "DEN"]]
      )
    }).pipe(Effect.provide(on()))
  )

  it.scopedLive("sends a dead letter back, and discards another with a reason", () =>
    Effect.gen(function* () {
      yield* playing({ "lost-1": { pages: 1, pause: "50 millis" }, "lost-3": { pages: 1, pause: "50 millis" } })
      yield* letter(jobOf("lost-1"), "the data could not be reached")
      yield* letter(jobOf("lost-3"), "the data could not be reached")
      yield* letter(jobOf("lost-2"), "no such airport")
      yield* using({}, "dead-letters", async (page) => {
        await page.getByRole("button", { name: "Look into the queue" }).click()
        await page
          .locator("details", { hasText: "the data could not be reached" })
          .getByRole("checkbox")
          .first()
          .check()
        await page.getByText("2 selected").waitFor()
        // two of one reason, of which one is to go first, slowly
        await page.getByRole("button", { name: "Send back" }).click()
        await page.getByLabel("How many, at most").fill("1")
        await page.getByLabel("How many a second").fill("2")
        await page.getByRole("dialog").getByRole("button", { name: "Send back" }).click()
        await page.getByText("1 sent back, 0 deleted as done, 1 kept, 0 failed. not sent: the plan sends 1").waitFor()
        await page.locator("details", { hasText: "no such airport" }).getByRole("checkbox").first().check()
        await page.getByRole("button", { name: "Discard" }).click()
        await page.getByLabel("Why").fill("a typing error")
        await page.getByRole("dialog").getByRole("button", { name: "Discard" }).click()
        await page.getByText(/^1 discarded, kept in/).waitFor()
      })
      const jobs = yield* JobStore
      // which of the two went first is SQS's matter
      const completed = yield* until(
        Effect.map(jobs.list({ states: ["completed"], limit: 10 }), (rows) => rows.map(({ id }) => id)),
        (ids) => ids.length > 0
      )
      assert.match(completed.join(), /^lost-[13]$/)
      yield* using({}, "log", async (page) => {
        await page.getByText("reason: a typing error", { exact: false }).waitFor()
      })
    }).pipe(Effect.scoped, Effect.provide(on()))
  )

  it.scopedLive("takes a verdict on what nobody knows", () =>
    Effect.gen(function* () {
      yield* undecided("told-1")
      yield* using({ language: "ko" }, "review", async (page) => {
        await page.getByRole("button", { name: "전달되지 않았음" }).click()
        await page.getByLabel("기록에 남길 메모").fill("수신자가 확인함")
        await page.getByRole("dialog").getByRole("button", { name: "전달되지 않았음" }).click()
        await page.getByText("판정을 기다리는 것이 없습니다.").waitFor()
      })
      const jobs = yield* JobStore
      const row = yield* Effect.flatten(jobs.get("told-1"))
      assert.strictEqual(row.delivery, "pending")
    }).pipe(Effect.provide(on()))
  )

  it.scopedLive("asks for a token; who may only look has no buttons", () =>
    Effect.gen(function* () {
      yield* busy
      for (const [token, buttons] of [
        ["a-token-that-is-long-enough", 1],
        ["another-one-that-is-long-too", 0]
      ] as const) {
        yield* using({}, "jobs", async (page) => {
          await page.getByLabel("Token").fill("not this one")
          await page.getByRole("button", { name: "Log in" }).click()
          await page.getByText("this token is not known here").waitFor()
          assert.deepStrictEqual(await violations(page), [])
          await page.getByLabel("Token").fill(token)
          await page.getByRole("button", { name: "Log in" }).click()
          await page.locator("tbody tr").first().waitFor()
          assert.strictEqual(await page.getByRole("button", { name: "New job" }).count(), buttons)
          assert.strictEqual(await page.evaluate("document.cookie"), "")
          await page.reload()
          await page.locator("tbody tr").first().waitFor()
          await page.getByRole("button", { name: "Log out" }).click()
          await page.getByLabel("Token").waitFor()
        })
      }
    }).pipe(Effect.provide(on({ tokens })))
  )

  it.scopedLive("is all in the other language when that is chosen: what was said before, too", () =>
    Effect.gen(function* () {
      yield* letter(jobOf("lost-1"), "the data could not be reached")
      yield* using({}, "dead-letters", async (page) => {
        await page.getByLabel("Token").fill("not this one")
        await page.getByRole("button", { name: "Log in" }).click()
        await page.getByText("This token is not known here.").waitFor()
        await page.getByRole("button", { name: "한국어" }).click()
        await page.getByText("등록되지 않은 토큰입니다.").waitFor()
        await page.getByLabel("토큰").fill("a-token-that-is-long-enough")
        await page.getByRole("button", { name: "로그인" }).click()
        await page.getByRole("button", { name: "English" }).click()
        await page.getByRole("button", { name: "Look into the queue" }).click()
        await page.getByRole("status").getByText("Dead letters: 1").waitFor()
        await page.getByRole("button", { name: "한국어" }).click()
        await page.getByText("1개 모두 선택").waitFor()
        assert.strictEqual(await page.getByRole("status").textContent(), "")
      })
    }).pipe(Effect.provide(on({ tokens })))
  )

  it.scopedLive("tells what a job asks for and how the ledger has it in words", () =>
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const webhook = { url: "https://receiver.example/reports", idempotent: true }
      yield* jobs.accept(jobOf("told-1", { webhook }))
      yield* Effect.forkScoped(
        Ledger.once({ namespace: namespaces.reports, key: "told-1", result: Schema.Void }, () => Effect.never)
      )
      yield* using({ language: "ko" }, "jobs/told-1", async (page) => {
        await page.getByText("https://receiver.example/reports · 같은 키로 온 두 번째 알림은 수신자가 무시함").waitFor()
        await page.getByText("영어", { exact: true }).waitFor()
        await page.getByText("리포트: 진행 중, 1번째 시도").waitFor()
      })
    }).pipe(Effect.provide(on()))
  )

  it.scopedLive("counts what runs, not what has run and is still in hand", () =>
    Effect.gen(function* () {
      const { observe } = yield* Live
      const at = Date.now()
      for (const n of [1, 2, 3]) {
        const subject = { queue, messageId: `m${n}`, receiptHandle: `r${n}`, receiveCount: 1, at }
        yield* observe(ConsumerEvent.Received({ ...subject, deadline: at + 30_000, sentAt: undefined }))
        yield* observe(ConsumerEvent.RunStarted(subject))
        // its delete is under way, and its place is free
        if (n === 1) yield* observe(ConsumerEvent.RunEnded({ ...subject, ranMs: 10, outcome: "success" }))
      }
      yield* using({}, "now", async (page) => {
        await page.locator("ul .lease").nth(2).waitFor()
        assert.strictEqual(await page.locator(".tile", { hasText: "Running here" }).innerText(), "Running here\n2 of 2")
      })
    }).pipe(Effect.provide(on()))
  )

  it.scopedLive("is used by keys alone, and fits 360 pixels", () =>
    Effect.gen(function* () {
      yield* busy
      yield* using({ width: 360, height: 740 }, "now", async (page, url) => {
        await page.locator(".tile").first().waitFor()
        for (const part of ["now", "jobs", "jobs/flights-2001-0", "review", "log"]) {
          await page.goto(`${url}/#/${part}`)
          await page.locator("h1").waitFor()
          assert.strictEqual(await page.evaluate("document.documentElement.scrollWidth"), 360, part)
        }
        await page.keyboard.press("/")
        await page.locator("#search:focus").waitFor()
        await page.keyboard.type("2001-0")
        await page.locator("tbody tr").nth(0).waitFor()
        await page.locator("tbody tr").nth(1).waitFor({ state: "detached" })
        await page.keyboard.press("Tab")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await page.getByRole("heading", { name: "flights-2001-0" }).waitFor()
      })
    }).pipe(Effect.provide(on()))
  )
})
