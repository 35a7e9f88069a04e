/** Looking without losing: ls, show, the dry run; and filters. */
import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
import type { ReceivedMessage } from "@effect-sqs/core/Sqs"
import type { LedgerRecord } from "@effect-sqs/ledger/LedgerRecord"
import { Fault } from "@effect-sqs/testing"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option, Schema } from "effect"
import { readFile } from "node:fs/promises"
import path from "node:path"
import * as DeadLetter from "../src/DeadLetter.js"
import { discard } from "../src/DeadLetterDiscard.js"
import * as Filter from "../src/DeadLetterFilter.js"
import { list } from "../src/DeadLetterList.js"
import { historyOf, show } from "../src/DeadLetterShow.js"
import { deduplicationId } from "../src/internal/redriveCopy.js"
import { apply } from "../src/RedriveApply.js"
import { dryRun } from "../src/RedriveDryRun.js"
import { adviceOf } from "../src/RedriveLedger.js"
import {
  auditIn,
  bodies,
  counters,
  deadLetters,
  directory,
  lines,
  pair,
  put,
  quick,
  served
} from "./deadLetters.support.js"

const letter = (message: Partial<ReceivedMessage>) =>
  DeadLetter.fromMessage({
    messageId: "m-1",
    receiptHandle: "r",
    body: "{}",
    receiveCount: 4,
    sentAt: 1000,
    firstReceivedAt: undefined,
    senderId: undefined,
    groupId: undefined,
    deduplicationId: undefined,
    sequenceNumber: undefined,
    traceHeader: undefined,
    deadLetterSourceArn: undefined,
    attributes: {},
    ...message
  })

const text = (stringValue: string) => ({ dataType: "String", stringValue })

describe("filters", () => {
  const order = letter({
    body: JSON.stringify({ _tag: "Order", order: { id: "o-1", tier: "gold", "a b": [{ sku: "X1" }] }, amount: 120 }),
    attributes: {
      tenant: text("north"),
      attempt: { dataType: "Number", stringValue: "10" },
      "effect_sqs.reason": text("Timeout after 30 s of job 4711")
    },
    deadLetterSourceArn: "arn:aws:sqs:eu-west-1:1:orders"
  })
  const body = (condition: string) => Filter.matches({ body: [Filter.parseBody(condition)!] }, order)
  const attribute = (condition: string) => Filter.matches({ attributes: [Filter.parseAttribute(condition)!] }, order)

  it("body, by a path", () => {
    for (const holds of [
      "$.order.tier=gold",
      "$.amount>100",
      "$.amount = 120",
      "$.amount<=120",
      '$.order["a b"][0].sku~X',
      "$.order['a b'][0].sku=X1",
      "$.order.id",
      "$.nothing!=x",
      "$.order.tier!=silver"
    ]) {
      assert.isTrue(body(holds), holds)
    }
    for (const fails of ["$.order.tier=silver", "$.amount>120", "$.nothing", "$.order.toString", "$.amount~3"]) {
      assert.isFalse(body(fails), fails)
    }
    assert.isFalse(Filter.matches({ body: [Filter.parseBody("$.a")!] }, letter({ body: "no json" })))
    for (const none of ["order.id=1", "", "$.a.b c=1", "$..a=1", "$.a[*]=1"]) {
      assert.isUndefined(Filter.parseBody(none), none)
    }
  })

  it("attributes: numbers as numbers, where they are some", () => {
    for (const holds of ["tenant=north", "tenant~nor", "attempt>9", "attempt=10.0", "attempt", "missing!=1"]) {
      assert.isTrue(attribute(holds), holds)
    }
    for (const fails of ["tenant=south", "attempt>10", "missing", "missing=1"]) assert.isFalse(attribute(fails), fails)
  })

  it("source, reason, type, age, receives, id", () => {
    assert.isTrue(Filter.matches({}, order))
    assert.isTrue(Filter.isEmpty({ body: [] }))
    const cases: ReadonlyArray<readonly [Filter.DeadLetterFilter, boolean]> = [
      [{ sources: ["orders"] }, true],
      [{ sources: ["other", "arn:aws:sqs:eu-west-1:1:orders"] }, true],
      [{ sources: ["other"] }, false],
      [{ reasons: ["timeout"] }, true],
      [{ reasons: ["none recorded"] }, false],
      [{ types: ["Order"] }, true],
      [{ types: ["order"] }, false],
      [{ sentBefore: 1001, sentAfter: 999 }, true],
      [{ sentBefore: 1000 }, false],
      [{ sentAfter: 1000 }, false],
      [{ receivedAtLeast: 4 }, true],
      [{ receivedAtLeast: 5 }, false],
      [{ messageIds: ["m-1"] }, true],
      [{ messageIds: ["m-2"] }, false]
    ]
    for (const [filter, expected] of cases) assert.strictEqual(Filter.matches(filter, order), expected)
  })

  it("one kind: the reason without its numbers and ids", () => {
    const reasons = ["Timeout after 30 s of 4711", "Timeout after 5 s of 3f2c7a10-1111-2222-3333-444455556666"]
    const [a, b] = reasons.map((r) =>
      DeadLetter.kindKey(DeadLetter.kindOf(letter({ attributes: { "effect_sqs.reason": text(r) } })))
    )
    assert.strictEqual(a, b)
  })

  it("a deduplication id is never too long, and another one for each redrive", () => {
    const long = "x".repeat(100)
    assert.isAtMost(deduplicationId(long, long, 1).length, 128)
    assert.notStrictEqual(deduplicationId(long, long, 1), deduplicationId(long, long, 2))
  })
})

describe("what the ledger says", () => {
  const record = (r: Partial<LedgerRecord>) => Option.some(r as LedgerRecord)
  const now = 1_000_000
  it("each state has one action", () => {
    const action = (r: Partial<LedgerRecord>) => adviceOf(record(r), now).action
    assert.strictEqual(adviceOf(Option.none(), now).action, "send")
    assert.strictEqual(action({ state: "completed" }), "delete")
    assert.strictEqual(action({ state: "retryable" }), "send")
    for (const state of ["unknown", "review", "rejected", "cancelled"] as const) {
      assert.strictEqual(action({ state }), "keep")
    }
    assert.strictEqual(action({ state: "in_progress", claimUntil: now + 1 }), "keep")
    // clocks differ: a claim that has just ended may still be renewed
    assert.strictEqual(action({ state: "in_progress", claimUntil: now - 1000 }), "keep")
    assert.strictEqual(action({ state: "in_progress", claimUntil: now - 61_000 }), "send")
    const call = { ref: "r", policy: "ambiguous", startedAt: 0 } as const
    assert.strictEqual(action({ state: "in_progress", claimUntil: now - 61_000, call }), "keep")
  })
})

describe("looking", () => {
  it.scopedLive("H5: ls groups, counts one receive on each, and puts all back", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      const message = (i: number) => ({ body: JSON.stringify({ _tag: i < 14 ? "Report" : "Mail", i }) })
      yield* deadLetters(
        sqs,
        "jobs",
        Array.from({ length: 25 }, (_, i) => message(i))
      )
      const before = yield* sqs.virtual.messages("dead")
      const result = yield* list("dead").pipe(Effect.provide(sqs.services))
      assert.strictEqual(result.looked, 25)
      assert.strictEqual(result.end, "all seen")
      assert.deepStrictEqual(
        result.groups.map((g) => [g.count, g.type, g.source, g.reason, g.receiveCount.max]),
        [
          [14, "Report", "jobs", "none recorded", 2],
          [11, "Mail", "jobs", "none recorded", 2]
        ]
      )
      assert.strictEqual(result.notPutBack, 0)
      const after = yield* sqs.virtual.messages("dead")
      assert.deepStrictEqual(
        after.map((m) => [m.messageId, m.state, m.receiveCount]),
        before.map((m) => [m.messageId, "visible", m.receiveCount + 1])
      )
    })
  )

  it.scopedLive("H5: interrupted in the middle, all is put back", () =>
    Effect.gen(function* () {
      const second = yield* Deferred.make<void>()
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.perform("second", Effect.asVoid(Deferred.succeed(second, undefined))).pipe(
          Fault.on("ReceiveMessage"),
          Fault.queue("dead"),
          Fault.after(1)
        )
      })
      yield* deadLetters(
        sqs,
        "jobs",
        Array.from({ length: 40 }, (_, i) => ({ body: `${i}` }))
      )
      const look = yield* Effect.fork(list("dead").pipe(Effect.provide(sqs.services)))
      yield* Deferred.await(second)
      yield* Fiber.interrupt(look)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 40, inFlight: 0, delayed: 0 })
    })
  )

  it.scopedLive("a look has a bound, and says that there may be more", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(
        sqs,
        "jobs",
        Array.from({ length: 30 }, (_, i) => ({ body: `${i}` }))
      )
      const result = yield* list("dead", { max: 12 }).pipe(Effect.provide(sqs.services))
      assert.deepInclude(result, { looked: 12, end: "max" })
      assert.match(result.notes.join(), /raise --scan/)
      assert.strictEqual((yield* counters(sqs, "dead")).visible, 30)
    })
  )

  it.scopedLive("a queue that is nobody's dead-letter queue is not touched; the right one is named", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* put(sqs, "jobs", { body: "live" })
      const error = yield* Effect.flip(list("jobs").pipe(Effect.provide(sqs.services)))
      assert.strictEqual(error._tag, "NotADeadLetterQueue")
      assert.match(error.message, /say --queue dead/)
      assert.strictEqual((yield* sqs.virtual.messages("jobs"))[0]!.receiveCount, 0)
      assert.strictEqual((yield* list("jobs", { anyQueue: true }).pipe(Effect.provide(sqs.services))).looked, 1)
    })
  )

  it.scopedLive("show finds one by its id and by its place in ls, and puts all back", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(
        sqs,
        "jobs",
        Array.from({ length: 12 }, (_, i) => ({ body: JSON.stringify({ i }) }))
      )
      const listed = yield* list("dead").pipe(Effect.provide(sqs.services))
      const third = listed.messages[2]!
      for (const which of [third.messageId, 3]) {
        const found = yield* show("dead", which).pipe(Effect.provide(sqs.services))
        assert.strictEqual(found.letter.messageId, third.messageId)
        assert.match(found.history.map((h) => h.what).join(), /moved by the redrive policy of jobs/)
      }
      const missing = yield* Effect.flip(show("dead", "no-such").pipe(Effect.provide(sqs.services)))
      assert.match(missing.message, /No such message among the 12/)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 12, inFlight: 0, delayed: 0 })
    })
  )

  it("one receive and one redrive are told as one", () => {
    const told = (receives: string, redrives: string) =>
      historyOf(
        letter({
          attributes: {
            "effect_sqs.reason": text("Timeout"),
            "effect_sqs.receive_count": text(receives),
            "effect_sqs.redrive_count": { dataType: "Number", stringValue: redrives }
          }
        }),
        2000
      ).map(({ what }) => what)
    assert.includeMembers(told("1", "1"), [
      "redriven once, last by plan ?",
      "dead-lettered by a consumer after 1 receive: Timeout"
    ])
    assert.includeMembers(told("3", "2"), [
      "redriven 2 times, last by plan ?",
      "dead-lettered by a consumer after 3 receives: Timeout"
    ])
  })

  it.scopedLive("what a consumer dead-letters is told by reason and source, and goes back as it was", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: ["dead", "jobs"] })
      const queue = SqsQueue.make("jobs", { schema: Schema.Struct({ id: Schema.Number }) })
      class Broken extends Schema.TaggedError<Broken>()("Broken", { text: Schema.String }) {
        override get message() {
          return this.text
        }
      }
      const worker = yield* Effect.fork(
        Consumer.run(
          queue,
          { redelivery: Redelivery.deadLetter, deadLetterQueue: "dead", receive: { waitTime: "1 second" } },
          (job) => Effect.fail(new Broken({ text: `report ${job.id} has no pages` }))
        ).pipe(Effect.provide(sqs.services))
      )
      const attributes = { tenant: { DataType: "String", StringValue: "north" } }
      for (const id of [1, 2]) yield* put(sqs, "jobs", { body: `{"id":${id}}`, attributes })
      const arrived = Effect.map(counters(sqs, "dead"), ({ visible }) => visible === 2)
      yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), turn), { until: () => arrived })
      yield* Fiber.interrupt(worker)
      const result = yield* list("dead", { anyQueue: true }).pipe(Effect.provide(sqs.services))
      assert.deepStrictEqual(
        result.groups.map((g) => [g.count, g.source]),
        [[2, "jobs"]]
      )
      assert.match(result.groups[0]!.reason, /report # has no pages/)
      const { plan } = yield* dryRun({ queue: "dead", anyQueue: true, limits: quick }).pipe(
        Effect.provide(sqs.services)
      )
      assert.deepStrictEqual(
        plan.destinations.map((d) => [d.source, d.name]),
        [["jobs", "jobs"]]
      )
      assert.strictEqual(plan.send, 2)
      const report = yield* apply({ plan, confirm: "dead", audit: yield* auditIn, actor: "t" }).pipe(
        Effect.provide(sqs.services)
      )
      assert.strictEqual(report.sent, 2)
      for (const copy of yield* sqs.virtual.messages("jobs")) {
        // what told of the failure is gone, what is the message's own is there
        assert.deepStrictEqual(
          Object.keys(copy.attributes).sort(),
          ["first_sent_at", "original_message_id", "redrive_count", "redrive_id"]
            .map((name) => `effect_sqs.${name}`)
            .concat("tenant")
        )
      }
    })
  )
})

describe("discard", () => {
  const message = (i: number) => ({
    body: JSON.stringify({ _tag: i % 2 === 0 ? "Old" : "New", i }),
    attributes: { bytes: { DataType: "Binary", BinaryValue: "AAH+/w==" } }
  })
  const some = Array.from({ length: 24 }, (_, i) => message(i))

  it.scopedLive("keeps each message in a file before it deletes it; what the filter does not mean stays", () =>
    Effect.gen(function* () {
      const sqs = yield* served({ queues: pair("jobs", "dead") })
      yield* deadLetters(sqs, "jobs", some)
      const keepIn = path.join(yield* directory, "kept.jsonl")
      const report = yield* discard({
        queue: "dead",
        filter: { types: ["Old"] },
        reason: "format of last year",
        keepIn,
        confirm: "dead",
        actor: "tester"
      }).pipe(Effect.provide(sqs.services))
      assert.deepInclude(report, { received: 24, discarded: 12, kept: 12, failed: 0, notPutBack: 0 })
      const kept = (yield* lines(keepIn)) as ReadonlyArray<any>
      assert.strictEqual(kept.length, 12)
      for (const line of kept) {
        assert.strictEqual(line.discardedBecause, "format of last year")
        assert.match(line.message.body, /"Old"/)
        assert.strictEqual(line.message.attributes.bytes.binaryValueBase64, "AAH+/w==")
      }
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: 12, inFlight: 0, delayed: 0 })
    })
  )

  it.scopedLive("a delete that fails leaves the message in the queue; wrong name or no reason: nothing is taken", () =>
    Effect.gen(function* () {
      const sqs = yield* served({
        queues: pair("jobs", "dead"),
        faults: Fault.entries((_, index) => index === 0, "InvalidParameterValue", { senderFault: true }).pipe(
          Fault.on("DeleteMessageBatch")
        )
      })
      yield* deadLetters(sqs, "jobs", some)
      const keepIn = path.join(yield* directory, "kept.jsonl")
      const options = { queue: "dead", reason: "r", keepIn, confirm: "dead", actor: "t" }
      const refused = (o: Partial<typeof options>) =>
        Effect.flip(discard({ ...options, ...o }).pipe(Effect.provide(sqs.services)))
      assert.match((yield* refused({ confirm: "jobs" })).message, /--confirm dead/)
      assert.match((yield* refused({ reason: " " })).message, /--because is empty/)
      assert.match((yield* refused({ keepIn: "/no/such/dir/f" })).message, /Nothing is deleted that is not kept/)
      assert.strictEqual((yield* bodies(sqs, "dead")).length, 24)
      const report = yield* discard(options).pipe(Effect.provide(sqs.services))
      assert.strictEqual(report.received, report.discarded + report.kept + report.failed)
      assert.isAbove(report.failed, 0)
      assert.deepStrictEqual(yield* counters(sqs, "dead"), { visible: report.failed, inFlight: 0, delayed: 0 })
      const file = yield* Effect.promise(() => readFile(keepIn, "utf8"))
      assert.strictEqual(file.trimEnd().split("\n").length, 24)
    })
  )
})

const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})
