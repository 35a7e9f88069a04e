/** A port that only sends, kept in memory, and a producer on it. */
import { Producer, Sqs, SqsError, SqsQueue } from "@effect-sqs/core"
import { Effect, Fiber, Schema, TestClock } from "effect"

export const Job = Schema.Struct({ id: Schema.String })
export const Jobs = SqsQueue.make("jobs", { schema: Job })
export const Fifo = SqsQueue.make("jobs.fifo", {
  schema: Job,
  groupId: (job) => job.id,
  deduplicationId: (job) => `d-${job.id}`
})

export const error = (code: string, detail = "text"): SqsError.SqsError =>
  SqsError.fromCode({ operation: "SendMessageBatch", queue: "jobs", code, detail })

type Answer = ReadonlyArray<Sqs.EntryResult<Sqs.Sent>> | SqsError.SqsError

export const sent = (entry: Sqs.SendEntry): Sqs.EntryResult<Sqs.Sent> => ({
  _tag: "Done",
  value: { messageId: `m-${(JSON.parse(entry.body) as { id: string }).id}`, sequenceNumber: undefined }
})

export const failed = (code: string): Sqs.EntryResult<Sqs.Sent> => ({ _tag: "Failed", error: error(code) })

/** A port that only sends: keeps what it got, and answers as told, everything accepted unless told otherwise. */
export const portOf = (
  answer: (call: number, entries: ReadonlyArray<Sqs.SendEntry>) => Answer = (_, entries) => entries.map(sent)
) => {
  const calls: Array<{ readonly queueUrl: string; readonly entries: ReadonlyArray<Sqs.SendEntry> }> = []
  const lookups: Array<string> = []
  const unused = () => Effect.die("not used by a producer")
  const port: Sqs.Sqs["Type"] = {
    queueUrl: (name) =>
      Effect.sync(() => {
        lookups.push(name)
        return `http://localhost/0/${name}`
      }),
    sendBatch: (queueUrl, entries) =>
      Effect.suspend(() => {
        calls.push({ queueUrl, entries })
        const result = answer(calls.length, entries)
        return SqsError.isSqsError(result) ? Effect.fail(result) : Effect.succeed(result)
      }),
    attributes: unused,
    receive: unused,
    deleteBatch: unused,
    changeVisibilityBatch: unused,
    requestTimeoutMs: undefined
  }
  const idsOf = () =>
    calls.map((call) => call.entries.map((entry) => (JSON.parse(entry.body) as { id: string }).id).join(" "))
  return { port, calls, lookups, idsOf }
}

type Port = ReturnType<typeof portOf>

export const producerOf = <A, I, R>(
  { port }: Pick<Port, "port">,
  queue: SqsQueue.SqsQueue<A, I, R>,
  options?: Producer.ProducerOptions
) => Producer.make(queue, options).pipe(Effect.provideService(Sqs.Sqs, port))

export const jobs = (n: number) => Array.from({ length: n }, (_, i) => ({ id: String(i) }))

export const tagsOf = (results: ReadonlyArray<Producer.SendResult>) =>
  results.map((result) => (result._tag === "Done" ? result.value.messageId : result.error._tag))

/** Runs to the end, whatever waits there are. */
export const whole = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })
