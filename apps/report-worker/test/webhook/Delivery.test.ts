import * as Ledger from "@effect-sqs/ledger/Ledger"
import * as MemoryStore from "@effect-sqs/ledger/MemoryStore"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Receiver from "../../src/receiver/Receiver.js"
import { Delivered, Notice, policyOf, referenceOf, Webhook, type WebhookTarget } from "../../src/webhook/Webhook.js"

/** Of the webhook: short, for what hangs; the ledger's own is 2 s longer. */
const timeout = Duration.millis(400)

const live = Layer.merge(
  Webhook.layer({ timeout, allowPrivate: true }),
  Ledger.layer.pipe(Layer.provide(MemoryStore.layer))
)

const jobId = "den"
const id = { namespace: "deliveries", key: jobId }

const notice = new Notice({
  jobId,
  report: "flight-delays",
  artifact: { name: "den.pdf", location: "/reports/den.pdf", bytes: 5, sha256: "00" }
})

/** A run of the delivery, as each redelivery of the job makes one. */
const run = (target: WebhookTarget) =>
  Effect.flatMap(Webhook, (webhook) =>
    Ledger.once({ ...id, result: Delivered }, () =>
      Ledger.outside(referenceOf(jobId), policyOf(target, timeout), (call) => webhook.deliver(target, notice, call))
    )
  )

/** So many runs, one after the other, and how each ended: with the status, or the tag of its failure. */
const runs = (target: WebhookTarget, count: number) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Effect.match(run(target), { onSuccess: ({ status }) => `${status}`, onFailure: (e) => e._tag })
  )

const state = Effect.map(Ledger.get(id), (record) => Option.getOrUndefined(record)?.state)

const reconcile = (target: WebhookTarget, options: { readonly tries?: number } = {}) =>
  Effect.flatMap(Webhook, (webhook) =>
    Ledger.reconcile({
      namespace: id.namespace,
      ask: (call) => webhook.ask(target, call),
      delay: "1 millis",
      ...options
    })
  )

const honours = (receiver: Receiver.Receiver, play: string): WebhookTarget => ({
  url: `${receiver.url}/honours?play=${play}`,
  idempotent: true
})

const ignores = (receiver: Receiver.Receiver, play: string, asked = false): WebhookTarget => ({
  url: `${receiver.url}/ignores?play=${play}`,
  idempotent: false,
  ...(asked ? { statusUrl: `${receiver.url}/status` } : {})
})

const books = (receiver: Receiver.Receiver) => {
  const { bodies, effects, requests } = receiver.received().get(jobId) ?? { bodies: [], effects: 0, requests: 0 }
  assert.isAtMost(bodies.length, 1, "each try says the same")
  return { effects, requests }
}

const receiving = Receiver.make({ slow: Duration.times(timeout, 2) })

describe("a delivery on the ledger", () => {
  // what becomes of the first try; how the first run ends
  const mayHaveHappened = [
    ["slow", "WebhookFailed"],
    ["slow-after", "WebhookFailed"],
    ["error", "WebhookFailed"],
    ["error-after", "WebhookFailed"],
    ["cut", "WebhookFailed"],
    ["cut-after", "WebhookFailed"],
    ["hang", "WebhookFailed"],
    ["hang-after", "WebhookFailed"]
  ] as const

  for (const [play, tag] of mayHaveHappened) {
    it.scopedLive(`${play}, a receiver that honours keys: told again, one effect`, () =>
      Effect.gen(function* () {
        const receiver = yield* receiving
        // the third run is given the stored result
        assert.deepStrictEqual(yield* runs(honours(receiver, `${play},answer`), 3), [tag, "200", "200"])
        // one that answers late has its effect late
        if (play === "slow") yield* Effect.sleep(Duration.times(timeout, 3))
        assert.deepStrictEqual(books(receiver), { effects: 1, requests: 2 })
        assert.strictEqual(yield* state, "completed")
      }).pipe(Effect.provide(live))
    )

    it.scopedLive(`${play}, a receiver that knows no keys: never told again, a person decides`, () =>
      Effect.gen(function* () {
        const receiver = yield* receiving
        const target = ignores(receiver, `${play},answer`)
        assert.deepStrictEqual(yield* runs(target, 3), ["LedgerUnknown", "LedgerUnknown", "LedgerUnknown"])
        assert.strictEqual(books(receiver).requests, 1)
        assert.strictEqual(yield* state, "unknown")
        // nobody can be asked: each pass leaves it unknown, until a person has to decide
        yield* reconcile(target, { tries: 1 })
        assert.strictEqual(yield* state, "review")
        assert.deepStrictEqual(yield* runs(target, 1), ["LedgerReview"])
        assert.strictEqual(books(receiver).requests, 1)
      }).pipe(Effect.provide(live))
    )
  }

  for (const play of ["error-after", "cut-after", "hang-after", "slow-after"] as const) {
    it.scopedLive(`${play}, a receiver that knows no keys but can be asked: it has it, and is not told again`, () =>
      Effect.gen(function* () {
        const receiver = yield* receiving
        const target = ignores(receiver, `${play},answer`, true)
        assert.deepStrictEqual(yield* runs(target, 1), ["LedgerUnknown"])
        yield* reconcile(target)
        assert.strictEqual(yield* state, "retryable")
        assert.deepStrictEqual(yield* run(target), { status: 200, reported: true })
        assert.deepStrictEqual(books(receiver), { effects: 1, requests: 1 })
        assert.strictEqual(yield* state, "completed")
      }).pipe(Effect.provide(live))
    )
  }

  it.scopedLive(
    "a receiver that can be asked and has nothing is told again, but not before the first try is over for sure",
    () =>
      Effect.gen(function* () {
        const receiver = yield* receiving
        const target = ignores(receiver, "cut,answer", true)
        assert.deepStrictEqual(yield* runs(target, 1), ["LedgerUnknown"])
        yield* reconcile(target)
        assert.strictEqual(yield* state, "unknown")
        yield* Effect.sleep(Duration.times(timeout, 3.2))
        yield* reconcile(target)
        assert.strictEqual(yield* state, "retryable")
        assert.deepStrictEqual(yield* runs(target, 2), ["200", "200"])
        assert.deepStrictEqual(books(receiver), { effects: 1, requests: 2 })
      }).pipe(Effect.provide(live))
  )

  it.scopedLive("what answers the question otherwise, or not at all, leaves it unknown", () =>
    Effect.gen(function* () {
      const receiver = yield* receiving
      const webhook = yield* Webhook
      const call = { ref: referenceOf(jobId), startedAt: 0 }
      const urls = [`${receiver.url}/none`, `${receiver.url}/`, "http://127.0.0.1:1/status", "no URL"]
      for (const statusUrl of urls) {
        const verdict = yield* webhook.ask({ ...ignores(receiver, "answer"), statusUrl }, call)
        assert.strictEqual(verdict._tag, "StillUnknown", statusUrl)
      }
    }).pipe(Effect.provide(live))
  )

  // surely did not happen: a receiver that knows no keys is told again too
  for (const [play, tag] of [
    ["busy", "WebhookUnreachable"],
    ["refuse", "WebhookRefused"],
    ["redirect", "WebhookRefused"]
  ] as const) {
    it.scopedLive(`${play}: surely not told, so that the key stays free to be told`, () =>
      Effect.gen(function* () {
        const receiver = yield* receiving
        assert.deepStrictEqual(yield* runs(ignores(receiver, `${play},answer`), 3), [tag, "200", "200"])
        assert.deepStrictEqual(books(receiver), { effects: 1, requests: 2 })
      }).pipe(Effect.provide(live))
    )
  }

  it.scopedLive("nobody there: surely not told, told when it is back", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(Effect.map(Receiver.make(), ({ url }) => Number(new URL(url).port)))
      const target = { url: `http://127.0.0.1:${port}/ignores`, idempotent: false }
      assert.deepStrictEqual(yield* runs(target, 1), ["WebhookUnreachable"])
      assert.strictEqual(yield* state, "retryable")
      const receiver = yield* Receiver.make({ port })
      assert.deepStrictEqual(yield* runs(target, 1), ["200"])
      assert.deepStrictEqual(books(receiver), { effects: 1, requests: 1 })
    }).pipe(Effect.provide(live))
  )

  it.scopedLive("a stop in the middle: unknown where keys are not known, told again where they are", () =>
    Effect.gen(function* () {
      for (const idempotent of [false, true]) {
        const arrived = yield* Deferred.make<void>()
        const receiver = yield* Receiver.make({
          play: (_, n) => (n === 1 ? "hang-after" : "answer"),
          onNotice: () => Effect.asVoid(Deferred.succeed(arrived, undefined))
        })
        const target = { url: `${receiver.url}/${idempotent ? "honours" : "ignores"}`, idempotent }
        yield* Effect.gen(function* () {
          const fiber = yield* Effect.fork(run(target))
          yield* Deferred.await(arrived)
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
          assert.deepStrictEqual(yield* runs(target, 1), [idempotent ? "200" : "LedgerUnknown"])
          assert.deepStrictEqual(books(receiver), { effects: 1, requests: idempotent ? 2 : 1 })
        }).pipe(Effect.provide(Layer.fresh(live)))
      }
    })
  )
})
