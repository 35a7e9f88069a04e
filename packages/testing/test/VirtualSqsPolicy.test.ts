import { layer, VirtualSqs } from "@effect-sqs/testing/VirtualSqs"
import * as VirtualSqsPolicy from "@effect-sqs/testing/VirtualSqsPolicy"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"

const seconds = (n: number) => TestClock.adjust(n * 1000)

const api = (operation: string, input: { [key: string]: unknown }) =>
  Effect.flatMap(VirtualSqs, (virtual): Effect.Effect<any, any> =>
    virtual.api(operation, { QueueUrl: virtual.queueUrl("jobs"), ...input })
  )
const receive = (input: { [key: string]: unknown } = {}) =>
  Effect.map(
    api("ReceiveMessage", { MaxNumberOfMessages: 10, ...input }),
    (answer): ReadonlyArray<any> => answer.Messages ?? []
  )
const change = (handle: string, VisibilityTimeout: number, QueueUrl?: string) =>
  api("ChangeMessageVisibility", {
    ReceiptHandle: handle,
    VisibilityTimeout,
    ...(QueueUrl === undefined ? {} : { QueueUrl })
  })
const send = (body: string) => Effect.flatMap(VirtualSqs, (virtual) => virtual.send("jobs", body))
const visible = Effect.flatMap(VirtualSqs, (virtual) => Effect.map(virtual.counters("jobs"), (c) => c.visible))

const jobs = (policy: Partial<VirtualSqsPolicy.VirtualSqsPolicy>, seed = 0) => layer({ queues: ["jobs"], policy, seed })

describe("VirtualSqsPolicy", () => {
  it("random draws on every point", () => {
    assert.deepStrictEqual(Object.keys(VirtualSqsPolicy.random), Object.keys(VirtualSqsPolicy.defaults))
    assert.deepStrictEqual(Object.keys(VirtualSqsPolicy.readings), Object.keys(VirtualSqsPolicy.defaults))
    for (const [point, all] of Object.entries(VirtualSqsPolicy.readings)) {
      assert.strictEqual(all[0], VirtualSqsPolicy.defaults[point as keyof VirtualSqsPolicy.VirtualSqsPolicy])
    }
  })

  const expiredChange = Effect.gen(function* () {
    yield* send("m")
    const [m] = yield* receive({ VisibilityTimeout: 1 })
    yield* seconds(1)
    const answer = yield* Effect.merge(change(m.ReceiptHandle, 10))
    return [answer.code ?? "done", yield* visible]
  })
  for (const [reading, expected] of [
    ["applied", ["done", 0]],
    ["ignored", ["done", 1]],
    ["refused", ["AWS.SimpleQueueService.MessageNotInflight", 1]]
  ] as const) {
    it.effect(`expiredHandleChange ${reading}`, () =>
      Effect.map(expiredChange, (found) => assert.deepStrictEqual(found, [...expected])).pipe(
        Effect.provide(jobs({ expiredHandleChange: reading }))
      )
    )
  }

  for (const [reading, left] of [
    ["applied", 1],
    ["ignored", 0]
  ] as const) {
    it.effect(`oldHandleChange ${reading}`, () =>
      Effect.gen(function* () {
        yield* send("m")
        const [old] = yield* receive({ VisibilityTimeout: 0 })
        yield* receive()
        yield* change(old.ReceiptHandle, 0)
        assert.strictEqual(yield* visible, left)
      }).pipe(Effect.provide(jobs({ oldHandleChange: reading })))
    )
  }

  for (const [reading, left] of [
    ["deletes", 0],
    ["ignored", 1]
  ] as const) {
    it.effect(`oldHandleDelete ${reading}`, () =>
      Effect.gen(function* () {
        yield* send("m")
        const [old] = yield* receive({ VisibilityTimeout: 0 })
        yield* receive()
        yield* api("DeleteMessage", { ReceiptHandle: old.ReceiptHandle })
        assert.strictEqual((yield* (yield* VirtualSqs).messages("jobs")).length, left)
      }).pipe(Effect.provide(jobs({ oldHandleDelete: reading })))
    )
  }

  for (const [reading, expected] of [
    ["expired", /The receipt handle has expired/],
    ["unavailable", /not available for visibility timeout change/],
    ["applied", /^done$/]
  ] as const) {
    it.effect(`fifoExpiredHandleChange ${reading}`, () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs
        yield* virtual.send("jobs.fifo", "m", { groupId: "g", deduplicationId: "d" })
        const QueueUrl = virtual.queueUrl("jobs.fifo")
        const [m] = yield* receive({ QueueUrl, VisibilityTimeout: 1 })
        yield* seconds(1)
        const answer = yield* Effect.merge(change(m.ReceiptHandle, 10, QueueUrl))
        assert.match(answer.detail ?? "done", expected)
        assert.strictEqual((yield* virtual.counters("jobs.fifo")).inFlight, reading === "applied" ? 1 : 0)
      }).pipe(Effect.provide(layer({ queues: ["jobs.fifo"], policy: { fifoExpiredHandleChange: reading } })))
    )
  }

  const withDeadLetters = (policy: Partial<VirtualSqsPolicy.VirtualSqsPolicy>) =>
    layer({ queues: ["dead", { name: "jobs", deadLetters: { queue: "dead", maxReceiveCount: 1 } }], policy })

  for (const [reading, count] of [
    ["reset", "1"],
    ["kept", "3"]
  ] as const) {
    it.effect(`receiveCountAfterMoveTask ${reading}`, () =>
      Effect.gen(function* () {
        yield* send("m")
        yield* receive({ VisibilityTimeout: 0 })
        yield* receive()
        const virtual = yield* VirtualSqs
        yield* receive({ QueueUrl: virtual.queueUrl("dead"), VisibilityTimeout: 0 })
        yield* api("StartMessageMoveTask", { SourceArn: "arn:aws:sqs:us-east-1:000000000000:dead" })
        yield* seconds(1)
        const [m] = yield* receive({ AttributeNames: ["All"] })
        assert.strictEqual(m.Attributes.ApproximateReceiveCount, count)
      }).pipe(Effect.provide(withDeadLetters({ receiveCountAfterMoveTask: reading })))
    )
  }

  it.effect("deadLetterMove atTimeout moves when the visibility ends, and wakes who waits for dead letters", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      yield* send("m")
      yield* receive({ VisibilityTimeout: 5 })
      const waiting = yield* Effect.fork(receive({ QueueUrl: virtual.queueUrl("dead"), WaitTimeSeconds: 20 }))
      yield* seconds(5)
      assert.deepStrictEqual(
        (yield* Fiber.join(waiting)).map((m) => m.Body),
        ["m"]
      )
      assert.deepInclude(
        virtual.journal.entries.find((e) => e._tag === "DeadLettered"),
        { at: 5000, target: "dead" }
      )
    }).pipe(Effect.provide(withDeadLetters({ deadLetterMove: "atTimeout" })))
  )

  it.effect("deadLetterMove atReceive leaves it where it is", () =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      yield* send("m")
      yield* receive({ VisibilityTimeout: 5 })
      yield* seconds(6)
      assert.strictEqual((yield* virtual.counters("dead")).visible, 0)
      assert.strictEqual(yield* visible, 1)
    }).pipe(Effect.provide(withDeadLetters({})))
  )

  for (const [reading, stored] of [
    ["ignored", 1],
    ["applied", 2]
  ] as const) {
    it.effect(`deduplicationScopeChange ${reading}`, () =>
      Effect.gen(function* () {
        const virtual = yield* VirtualSqs
        yield* api("SetQueueAttributes", {
          QueueUrl: virtual.queueUrl("jobs.fifo"),
          Attributes: { DeduplicationScope: "messageGroup" }
        })
        for (const groupId of ["a", "b"]) yield* virtual.send("jobs.fifo", "m", { groupId, deduplicationId: "d" })
        assert.strictEqual((yield* virtual.messages("jobs.fifo")).length, stored)
      }).pipe(Effect.provide(layer({ queues: ["jobs.fifo"], policy: { deduplicationScopeChange: reading } })))
    )
  }

  it.effect("shortPoll sampled gives what some servers have; a long poll is complete", () =>
    Effect.gen(function* () {
      for (let i = 0; i < 5; i++) yield* send(`m${i}`)
      const counts = new Set<number>()
      for (let i = 0; i < 30; i++) counts.add((yield* receive({ MaxNumberOfMessages: 5, VisibilityTimeout: 0 })).length)
      assert.deepStrictEqual([...counts].sort(), [0, 1, 2, 3, 4, 5])
      assert.strictEqual((yield* receive({ MaxNumberOfMessages: 5, WaitTimeSeconds: 1 })).length, 5)
    }).pipe(Effect.provide(jobs({ shortPoll: "sampled" })))
  )

  const groupOrder = (seed: number) =>
    Effect.gen(function* () {
      const virtual = yield* VirtualSqs
      for (let i = 0; i < 6; i++)
        yield* virtual.send("jobs.fifo", `m${i}`, { groupId: `g${i}`, deduplicationId: `${i}` })
      return (yield* receive({ QueueUrl: virtual.queueUrl("jobs.fifo") })).map((m): string => m.Body).join(" ")
    }).pipe(Effect.provide(layer({ queues: ["jobs.fifo"], seed, policy: { groupOrder: "random" } })))

  it.effect("groupOrder random follows the seed", () =>
    Effect.gen(function* () {
      const orders = yield* Effect.forEach([1, 2, 3, 4], groupOrder)
      assert.isAbove(new Set(orders).size, 1)
      assert.deepStrictEqual(yield* Effect.forEach([1, 2, 3, 4], groupOrder), orders)
      for (const order of orders) assert.strictEqual(order.split(" ").sort().join(" "), "m0 m1 m2 m3 m4 m5")
    })
  )

  it.effect("a random reading is drawn at each decision", () =>
    Effect.gen(function* () {
      const found = new Set<string>()
      for (let i = 0; i < 40; i++) {
        yield* send("m")
        const [m] = yield* receive({ VisibilityTimeout: 1 })
        yield* seconds(1)
        const answer = yield* Effect.merge(change(m.ReceiptHandle, 10))
        found.add(`${answer.code ?? "done"} ${yield* visible}`)
        yield* api("DeleteMessage", { ReceiptHandle: m.ReceiptHandle })
      }
      assert.deepStrictEqual([...found].sort(), ["AWS.SimpleQueueService.MessageNotInflight 1", "done 0", "done 1"])
    }).pipe(Effect.provide(jobs({ expiredHandleChange: "random" })))
  )
})
