import { assert, describe, it } from "@effect/vitest"
import { SqsServer, VirtualSqs } from "@effect-sqs/testing"
import { Effect, Either, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { Connection, Doctor, DoctorPicture, RunTimes, Screen, SqsInspector, WorkerFile } from "../src/index.js"

const DAY = 86_400
const MINUTES_45 = 2700

/** The queue and its dead-letter queue, in order in every way; `attributes` breaks the one, `dead` the other. */
const pair = (
  name: string,
  attributes: Record<string, number | string> = {},
  dead: Record<string, number | string> = {},
  maxReceiveCount = 5
): ReadonlyArray<VirtualSqs.QueueOptions> => {
  const target = name.endsWith(".fifo") ? name.replace(".fifo", "-dead.fifo") : `${name}-dead`
  return [
    { name: target, attributes: { MessageRetentionPeriod: 14 * DAY, ...dead } },
    { name, attributes: { VisibilityTimeout: 60, ...attributes }, deadLetters: { queue: target, maxReceiveCount } }
  ]
}

const account = "000000000000"
const arn = (name: string) => `arn:aws:sqs:us-east-1:${account}:${name}`

/** A server with queues, and the way to it that the flags would make. */
const served = (options: VirtualSqs.VirtualSqsOptions) =>
  Effect.gen(function* () {
    const virtualLayer = VirtualSqs.layer(options)
    const context = yield* Layer.build(SqsServer.layer().pipe(Layer.provideMerge(virtualLayer)))
    const { url } = yield* Effect.provide(SqsServer.SqsServer, context)
    const virtual = yield* Effect.provide(VirtualSqs.VirtualSqs, context)
    const where = yield* Connection.decide({ endpoint: url, region: undefined, queue: "any" })
    const connection = yield* Layer.build(Connection.layer(where))
    const inspector = yield* Effect.provide(SqsInspector.SqsInspector, connection)
    const examine = (
      asked: Omit<Doctor.DoctorOptions, "where">,
      inspected: Partial<SqsInspector.SqsInspector["Type"]> = {}
    ) =>
      Doctor.examine({ wait: 0, ...asked, where }).pipe(
        Effect.provideService(SqsInspector.SqsInspector, { ...inspector, ...inspected }),
        Effect.provide(connection)
      )
    return { virtual, inspector, examine }
  })

const found = (report: Doctor.Report) => report.findings.map(({ id, severity }) => `${severity} ${id}`)

/** What a shell makes of a command, as an SDK would send it. */
const asCall = (command: string): readonly [operation: string, input: Record<string, unknown>] => {
  const words = execFileSync("sh", ["-c", `set -- ${command}; for word; do printf '%s\\0' "$word"; done`], {
    encoding: "utf8"
  }).split("\0")
  assert.deepStrictEqual(words.slice(0, 2), ["aws", "sqs"])
  const flag = (name: string) => words[words.indexOf(name) + 1]!
  const attributes = JSON.parse(flag("--attributes")) as Record<string, string>
  return words[2] === "create-queue"
    ? ["CreateQueue", { QueueName: flag("--queue-name"), Attributes: attributes }]
    : ["SetQueueAttributes", { QueueUrl: flag("--queue-url"), Attributes: attributes }]
}

describe("doctor", () => {
  it.scopedLive("says of a queue in order that it is, standard and FIFO", () =>
    Effect.gen(function* () {
      const { examine } = yield* served({ queues: [...pair("jobs"), ...pair("jobs.fifo")] })
      const worker = Either.getOrThrow(
        WorkerFile.fromText('{"concurrency": 16, "lease": {"visibility": "2 minutes"}, "drain": "20 seconds"}', "w")
      )
      for (const queue of ["jobs", "jobs.fifo"]) {
        const report = yield* examine({ queue, worker, runs: RunTimes.one("90 seconds"), wait: 1 })
        assert.deepStrictEqual([report.inOrder, found(report)], [true, []])
        assert.match(DoctorPicture.draw(report, Screen.make({})), /✓ In order: nothing is wrong/)
      }
    })
  )

  const broken: ReadonlyArray<{
    readonly queue: string
    readonly queues: ReadonlyArray<string | VirtualSqs.QueueOptions>
    readonly expect: string
    readonly runs?: RunTimes.RunTimes
    readonly worker?: string
    readonly prepare?: (virtual: VirtualSqs.VirtualSqs["Type"]) => Effect.Effect<unknown, unknown>
    /** `false`: no command alone mends it */
    readonly mends?: boolean
  }> = [
    { queue: "lone", queues: [{ name: "lone" }], expect: "fault no-dead-letter-queue" },
    { queue: "lone.fifo", queues: [{ name: "lone.fifo" }], expect: "fault no-dead-letter-queue" },
    { queue: "once", queues: pair("once", {}, {}, 1), expect: "fault max-receive-count" },
    { queue: "twice", queues: pair("twice", {}, {}, 2), expect: "risk max-receive-count" },
    {
      queue: "brief-dead",
      queues: pair("brief-dead", {}, { MessageRetentionPeriod: 4 * DAY }),
      expect: "risk dead-letter-retention"
    },
    {
      queue: "long-lived",
      queues: pair("long-lived", { MessageRetentionPeriod: 14 * DAY }),
      expect: "risk dead-letter-retention"
    },
    {
      queue: "dead-gone",
      queues: pair("dead-gone"),
      prepare: (virtual) => virtual.api("DeleteQueue", { QueueUrl: virtual.queueUrl("dead-gone-dead") }),
      expect: "fault dead-letter-queue-missing",
      // a name may be used again 60 s after its queue was deleted
      mends: false
    },
    {
      queue: "refused",
      queues: pair("refused"),
      prepare: (virtual) =>
        virtual.api("SetQueueAttributes", {
          QueueUrl: virtual.queueUrl("refused-dead"),
          Attributes: {
            RedriveAllowPolicy: JSON.stringify({ redrivePermission: "byQueue", sourceQueueArns: [arn("another")] })
          }
        }),
      expect: "fault redrive-not-allowed"
    },
    {
      queue: "denied",
      queues: pair("denied"),
      prepare: (virtual) =>
        virtual.api("SetQueueAttributes", {
          QueueUrl: virtual.queueUrl("denied-dead"),
          Attributes: { RedriveAllowPolicy: JSON.stringify({ redrivePermission: "denyAll" }) }
        }),
      expect: "fault redrive-not-allowed"
    },
    { queue: "zero", queues: pair("zero", { VisibilityTimeout: 0 }), expect: "fault visibility-zero" },
    {
      queue: "short",
      queues: pair("short", { VisibilityTimeout: 30 }),
      runs: RunTimes.one("90 seconds"),
      expect: "fault visibility-short"
    },
    {
      queue: "no-beat",
      queues: pair("no-beat"),
      runs: RunTimes.one("90 seconds"),
      worker: '{"lease": {"heartbeat": "off"}}',
      expect: "fault visibility-short"
    },
    {
      queue: "often",
      queues: pair("often", { MessageRetentionPeriod: MINUTES_45 }, {}, 30),
      expect: "fault retention-short"
    },
    {
      queue: "own-backoff",
      queues: pair("own-backoff", { MessageRetentionPeriod: DAY }, {}, 4),
      worker: '{"redelivery": {"first": "10 hours", "max": "10 hours"}}',
      expect: "fault retention-short",
      // a decision: the delays, or the retention
      mends: false
    },
    {
      queue: "left",
      queues: pair("left"),
      prepare: (virtual) => virtual.send("left-dead", "a dead letter"),
      expect: "risk dead-letters",
      mends: false
    },
    {
      queue: "odd-options",
      queues: pair("odd-options"),
      worker: '{"lease": {"visibility": "2 minutes", "heartbeat": "1 minute", "extendBy": "30 seconds"}}',
      expect: "fault worker-options",
      mends: false
    },
    {
      queue: "kinds.fifo",
      queues: [...pair("kinds.fifo"), "standard-dead"],
      worker: '{"deadLetterQueue": "standard-dead"}',
      expect: "fault worker-options",
      mends: false
    }
  ]

  for (const { expect, mends = true, prepare, queue, queues, runs, worker } of broken) {
    it.scopedLive(`names of a queue that is broken in one way exactly that: ${queue}, ${expect}`, () =>
      Effect.gen(function* () {
        const { examine, virtual } = yield* served({ queues })
        if (prepare !== undefined) yield* prepare(virtual)
        const asked = {
          queue,
          runs,
          worker: worker === undefined ? undefined : Either.getOrThrow(WorkerFile.fromText(worker, "worker.json"))
        }
        const report = yield* examine(asked)
        assert.deepStrictEqual([report.inOrder, found(report)], [false, [expect]])
        if (!mends) return
        for (const command of report.findings[0]!.mend) yield* virtual.api(...asCall(command))
        const mended = yield* examine(asked)
        assert.deepStrictEqual(found(mended), [], "its commands mend it")
      })
    )
  }

  it.scopedLive("a permission that is missing", () =>
    Effect.gen(function* () {
      for (const action of ["ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility"]) {
        const { examine, virtual } = yield* served({ queues: pair("jobs"), deny: [`sqs:${action}`] })
        yield* virtual.send("jobs", "stays as it is", { delaySeconds: 1 })
        const report = yield* examine({ queue: "jobs" })
        assert.deepStrictEqual(found(report), ["fault permission-missing"])
        assert.include(report.findings[0]!.what, `sqs:${action} on jobs is not allowed`)
        const [message] = yield* virtual.messages("jobs")
        assert.strictEqual(message?.receiveCount, 0, "asking does not receive")
      }
    })
  )

  it.scopedLive("what may not be read is said, the rest is looked at", () =>
    Effect.gen(function* () {
      const { examine } = yield* served({ queues: pair("jobs"), deny: ["sqs:GetQueueAttributes"] })
      const report = yield* examine({ queue: "jobs" })
      assert.deepStrictEqual([report.attributes, found(report)], [null, ["unseen attributes-not-readable"]])
      const own = yield* served({ queues: pair("jobs") })
      const denied = new SqsInspector.LookError({
        action: "sqs:GetQueueAttributes",
        queue: "jobs-dead",
        code: "AccessDenied",
        isDenied: true,
        isMissing: false,
        detail: "not yours"
      })
      const half = yield* own.examine(
        { queue: "jobs" },
        { attributes: (url) => (url.endsWith("-dead") ? Effect.fail(denied) : own.inspector.attributes(url)) }
      )
      assert.deepStrictEqual(found(half), ["unseen dead-letter-queue-not-readable"])
    })
  )

  /** What no test can bring about on the server, told by an inspector that changes an answer. */
  const told = (changes: Record<string, string>) =>
    Effect.gen(function* () {
      const { examine, inspector } = yield* served({ queues: [...pair("jobs.fifo"), "standard-dead"] })
      return yield* examine(
        { queue: "jobs.fifo" },
        {
          attributes: (url) =>
            Effect.map(inspector.attributes(url), (all) => (url.endsWith("/jobs.fifo") ? { ...all, ...changes } : all))
        }
      )
    })

  it.scopedLive("a dead-letter queue of another kind", () =>
    Effect.gen(function* () {
      const report = yield* told({
        RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn("standard-dead"), maxReceiveCount: 5 })
      })
      assert.deepStrictEqual(found(report), ["fault dead-letter-kind"])
      assert.include(report.findings[0]!.mend[0], "jobs-dlq.fifo")
    })
  )

  it.scopedLive("in flight near its limit", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(found(yield* told({ ApproximateNumberOfMessagesNotVisible: "110000" })), [
        "fault in-flight"
      ])
      assert.deepStrictEqual(found(yield* told({ ApproximateNumberOfMessagesNotVisible: "90000" })), [])
    })
  )

  it.scopedLive("a backlog that grows, and one that nobody works on", () =>
    Effect.gen(function* () {
      const { examine, inspector, virtual } = yield* served({ queues: pair("jobs") })
      const send = (n: number) => Effect.repeatN(virtual.send("jobs", "a job"), n - 1)
      let looks = 0
      const growing = yield* examine(
        { queue: "jobs", wait: 100 },
        {
          attributes: (url) =>
            Effect.tap(inspector.attributes(url), () =>
              url.endsWith("/jobs") && ++looks === 1 ? Effect.orDie(send(25)) : Effect.void
            )
        }
      )
      assert.deepStrictEqual(found(growing), ["risk backlog-grows"])
      assert.match(growing.findings[0]!.what, /0 messages waited, 100ms later 25; that is 15,000 a minute/)
      const idle = yield* examine({ queue: "jobs", wait: 1 })
      assert.deepStrictEqual(found(idle), ["risk nobody-receives"])
      const worked = yield* examine({ queue: "jobs", wait: 1 }).pipe(Effect.zipLeft(Effect.void), (again) =>
        virtual
          .api("ReceiveMessage", { QueueUrl: virtual.queueUrl("jobs"), MaxNumberOfMessages: 10 })
          .pipe(Effect.zipRight(again))
      )
      assert.deepStrictEqual(found(worked), [], "some are in flight, and it does not grow")
    })
  )

  it.scopedLive("several things: the worst first", () =>
    Effect.gen(function* () {
      const queues = pair("jobs", { VisibilityTimeout: 30 }, { MessageRetentionPeriod: DAY }, 2)
      const { examine, virtual } = yield* served({ queues })
      yield* virtual.send("jobs-dead", "a dead letter")
      const report = yield* examine({ queue: "jobs", runs: RunTimes.one("31 seconds") })
      assert.deepStrictEqual(found(report), [
        "fault visibility-short",
        "risk dead-letters",
        "risk max-receive-count",
        "risk dead-letter-retention"
      ])
    })
  )

  it("a worker's file that is none is refused in a sentence", () => {
    const refusal = (text: string) => Either.getOrThrow(Either.flip(WorkerFile.fromText(text, "w.json"))).sentence
    assert.match(refusal("{"), /^w.json: this is no JSON. Expected the options of Consumer.run/)
    assert.match(refusal("[]"), /^w.json: expected an object/)
    assert.match(refusal('{"redelivery": {"first": "soon"}}'), /^w.json: redelivery must be as/)
  })
})
