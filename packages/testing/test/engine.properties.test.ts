import * as Journal from "@effect-sqs/testing/Journal"
import * as VirtualSqsPolicy from "@effect-sqs/testing/VirtualSqsPolicy"
import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "fast-check"
import { Account } from "../src/internal/account.js"
import { ApiError } from "../src/internal/apiError.js"
import { operations } from "../src/internal/operations.js"

/** The engine under a clock of our own, without doors. */
const makeEngine = (policy: Partial<VirtualSqsPolicy.VirtualSqsPolicy> = {}) => {
  const journal = Journal.make()
  const account = new Account({
    accountId: "000000000000",
    region: "us-east-1",
    policy: VirtualSqsPolicy.make(policy),
    seed: 1,
    journal,
    inFlightLimit: 120_000
  })
  let now = 0
  const call = (operation: string, input: { [key: string]: unknown }): any => {
    account.advance(now)
    try {
      return operations.get(operation)!({ account, now, baseUrl: "http://sqs", decision: undefined }, input)
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
  }
  return { call, journal, account, advance: (ms: number) => (now += ms), now: () => now }
}

type Step =
  | { readonly do: "send"; readonly group: number; readonly delay: number }
  | { readonly do: "receive"; readonly max: number; readonly visibility: number }
  | { readonly do: "delete" | "change"; readonly which: number; readonly seconds: number }
  | { readonly do: "advance"; readonly ms: number }

const steps = FastCheck.array(
  FastCheck.oneof(
    {
      weight: 4,
      arbitrary: FastCheck.record({
        do: FastCheck.constant("send" as const),
        group: FastCheck.nat(1),
        delay: FastCheck.constantFrom(0, 0, 0, 3)
      })
    },
    {
      weight: 4,
      arbitrary: FastCheck.record({
        do: FastCheck.constant("receive" as const),
        max: FastCheck.integer({ min: 1, max: 4 }),
        visibility: FastCheck.constantFrom(0, 2, 5, 30)
      })
    },
    {
      weight: 2,
      arbitrary: FastCheck.record({
        do: FastCheck.constant("delete" as const),
        which: FastCheck.nat(5),
        seconds: FastCheck.constant(0)
      })
    },
    {
      weight: 2,
      arbitrary: FastCheck.record({
        do: FastCheck.constant("change" as const),
        which: FastCheck.nat(5),
        seconds: FastCheck.constantFrom(0, 1, 4, 20)
      })
    },
    {
      weight: 3,
      arbitrary: FastCheck.record({
        do: FastCheck.constant("advance" as const),
        ms: FastCheck.constantFrom(1, 500, 1000, 2500, 6000)
      })
    }
  ),
  { minLength: 1, maxLength: 60, size: "max" }
)

/** What a queue must be, written as plainly as can be. */
interface Told {
  readonly id: string
  readonly body: string
  readonly group: string
  visibleAt: number
  receives: number
}
interface Issued {
  readonly handle: string
  readonly message: Told
  readonly receive: number
}

const runSteps = (
  kind: "standard" | "fifo",
  all: ReadonlyArray<Step>,
  check: (engine: ReturnType<typeof makeEngine>, model: Map<string, Told>) => void
) => {
  const engine = makeEngine()
  const fifo = kind === "fifo"
  const QueueUrl = engine.call("CreateQueue", {
    QueueName: fifo ? "q.fifo" : "q",
    Attributes: fifo ? { FifoQueue: "true" } : {}
  }).QueueUrl
  const model = new Map<string, Told>()
  const issued: Array<Issued> = []
  const visible = (m: Told) => m.visibleAt <= engine.now()
  let sent = 0
  for (const step of all) {
    if (step.do === "advance") engine.advance(step.ms)
    if (step.do === "send") {
      const body = `m${++sent}`
      const group = `g${step.group}`
      const delay = fifo ? 0 : step.delay
      const answer = engine.call("SendMessage", {
        QueueUrl,
        MessageBody: body,
        ...(fifo ? { MessageGroupId: group, MessageDeduplicationId: body } : { DelaySeconds: delay })
      })
      model.set(answer.MessageId, {
        id: answer.MessageId,
        body,
        group,
        visibleAt: engine.now() + delay * 1000,
        receives: 0
      })
    }
    if (step.do === "receive") {
      const before = [...model.values()]
      const { Messages = [] } = engine.call("ReceiveMessage", {
        QueueUrl,
        MaxNumberOfMessages: step.max,
        VisibilityTimeout: step.visibility,
        AttributeNames: ["ApproximateReceiveCount"]
      })
      const got: ReadonlyArray<string> = Messages.map((m: any) => m.MessageId)
      assert.strictEqual(new Set(got).size, got.length, "a message twice in one answer")
      if (fifo) checkGroups(before, got, step.max, visible)
      else
        assert.deepStrictEqual(
          got,
          before
            .filter(visible)
            .slice(0, step.max)
            .map((m) => m.id)
        )
      for (const m of Messages) {
        const told = model.get(m.MessageId)!
        told.receives++
        told.visibleAt = engine.now() + step.visibility * 1000
        assert.strictEqual(m.Attributes.ApproximateReceiveCount, String(told.receives))
        issued.push({ handle: m.ReceiptHandle, message: told, receive: told.receives })
      }
    }
    if ((step.do === "delete" || step.do === "change") && issued.length > 0) {
      // the later ones are of more interest
      const { handle, message, receive } = issued[Math.max(0, issued.length - 1 - step.which)]!
      const there = model.has(message.id)
      const current = there && receive === message.receives && !visible(message)
      const answer = engine.call(step.do === "delete" ? "DeleteMessage" : "ChangeMessageVisibility", {
        QueueUrl,
        ReceiptHandle: handle,
        ...(step.do === "change" ? { VisibilityTimeout: step.seconds } : {})
      })
      const refused = answer instanceof ApiError
      assert.strictEqual(refused, step.do === "delete" ? fifo && there && !current : !there || (fifo && !current))
      if (!refused && there) {
        if (step.do === "delete") model.delete(message.id)
        else message.visibleAt = engine.now() + step.seconds * 1000
      }
    }
    check(engine, model)
    const counted = engine.call("GetQueueAttributes", { QueueUrl, AttributeNames: ["All"] }).Attributes
    const count = (which: (m: Told) => boolean) => String([...model.values()].filter(which).length)
    assert.strictEqual(counted.ApproximateNumberOfMessages, count(visible))
    assert.strictEqual(
      counted.ApproximateNumberOfMessagesNotVisible,
      count((m) => !visible(m) && m.receives > 0)
    )
    assert.strictEqual(
      counted.ApproximateNumberOfMessagesDelayed,
      count((m) => !visible(m) && m.receives === 0)
    )
  }
  return { engine, model, QueueUrl }
}

/** From each group what is visible at its head, in order; a group is left before its end only when the answer is full. */
const checkGroups = (
  before: ReadonlyArray<Told>,
  got: ReadonlyArray<string>,
  max: number,
  visible: (m: Told) => boolean
) => {
  const head = (group: string): ReadonlyArray<string> => {
    const all = before.filter((m) => m.group === group)
    const hidden = all.findIndex((m) => !visible(m))
    return (hidden < 0 ? all : all.slice(0, hidden)).map((m) => m.id)
  }
  const groups = [...new Set(before.map((m) => m.group))]
  const available = groups.reduce((sum, group) => sum + head(group).length, 0)
  assert.strictEqual(got.length, Math.min(max, available), "as many as there are")
  const groupOf = (id: string) => before.find((m) => m.id === id)!.group
  const order = got.map(groupOf)
  order.forEach((group, i) => {
    if (i > 0 && order[i - 1] !== group) assert.isFalse(order.slice(0, i).includes(group), "a group in two pieces")
  })
  for (const group of new Set(order)) {
    const taken = got.filter((id) => groupOf(id) === group)
    assert.deepStrictEqual(taken, head(group).slice(0, taken.length), "order in the group")
    if (order.at(-1) !== group) assert.strictEqual(taken.length, head(group).length, "a group left before its end")
  }
}

/** After all timeouts every message that was not deleted is received exactly once more. */
const nothingIsLost = (kind: "standard" | "fifo", all: ReadonlyArray<Step>) => {
  const { QueueUrl, engine, model } = runSteps(kind, all, () => {})
  engine.advance(60_000)
  const found: Array<string> = []
  for (let n = -1; n !== found.length;) {
    n = found.length
    const { Messages = [] } = engine.call("ReceiveMessage", {
      QueueUrl,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 600
    })
    for (const m of Messages) {
      found.push(m.MessageId)
      engine.call("DeleteMessage", { QueueUrl, ReceiptHandle: m.ReceiptHandle })
    }
  }
  assert.deepStrictEqual(found.sort(), [...model.keys()].sort())
}

describe("engine, against the plainest model", () => {
  it("a standard queue hands out what is visible, oldest first, and obeys its handles", () => {
    FastCheck.assert(
      FastCheck.property(steps, (all) => void runSteps("standard", all, () => {})),
      { numRuns: 300 }
    )
  })

  it("a FIFO queue keeps groups in order and locked, and obeys its handles", () => {
    FastCheck.assert(
      FastCheck.property(steps, (all) => void runSteps("fifo", all, () => {})),
      { numRuns: 300 }
    )
  })

  it("loses nothing, on both kinds", () => {
    FastCheck.assert(
      FastCheck.property(steps, FastCheck.constantFrom("standard" as const, "fifo" as const), (all, kind) =>
        nothingIsLost(kind, all)
      ),
      { numRuns: 200 }
    )
  })

  it("two runs of one seed write the same journal, random readings included", () => {
    const journalOf = (seed: number, all: ReadonlyArray<Step>) => {
      const engine = makeEngine({ ...VirtualSqsPolicy.random, shortPoll: "complete" })
      const { QueueUrl } = engine.call("CreateQueue", { QueueName: "q" })
      const handles: Array<string> = []
      for (const step of all) {
        if (step.do === "advance") engine.advance(step.ms)
        if (step.do === "send") engine.call("SendMessage", { QueueUrl, MessageBody: `m${seed}` })
        if (step.do === "receive") {
          const { Messages = [] } = engine.call("ReceiveMessage", { QueueUrl, VisibilityTimeout: step.visibility })
          for (const m of Messages) handles.push(m.ReceiptHandle)
        }
        if (step.do === "delete" || step.do === "change") {
          const ReceiptHandle = handles[step.which % handles.length]
          if (ReceiptHandle === undefined) continue
          if (step.do === "delete") engine.call("DeleteMessage", { QueueUrl, ReceiptHandle })
          else engine.call("ChangeMessageVisibility", { QueueUrl, ReceiptHandle, VisibilityTimeout: step.seconds })
        }
      }
      return engine.journal.entries
    }
    FastCheck.assert(
      FastCheck.property(FastCheck.nat(), steps, (seed, all) =>
        assert.deepStrictEqual(journalOf(seed, all), journalOf(seed, all))
      ),
      { numRuns: 50 }
    )
  })
})
