/**
 * The demo while it runs: the jobs are sent, the worker works, a person sees it.
 *
 * @since 0.1.0
 */
import * as Producer from "@effect-sqs/core/Producer"
import { Sqs } from "@effect-sqs/core/Sqs"
import type { JournalEntry } from "@effect-sqs/testing/Journal"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import * as Tracking from "@effect-sqs/testing/Tracking"
import { VirtualSqs } from "@effect-sqs/testing/VirtualSqs"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { JobStore } from "../jobs/JobStore.js"
import * as Outbox from "../jobs/Outbox.js"
import { handler } from "../Pipeline.js"
import type { Progress } from "../render/RenderProtocol.js"
import { reportJobs } from "../ReportJob.js"
import * as ReportWorker from "../ReportWorker.js"
import { board, eventLine } from "./Board.js"
import { settings } from "./Stage.js"
import { scenes } from "./Story.js"
import { StoryFailed } from "./StoryFailed.js"

const timeoutSeconds = 100

/**
 * Submits the jobs, and sends them from the database, as an outbox does; answers the ids that the server gave them, in the
 * order of the scenes.
 *
 * @since 0.1.0
 * @category acts
 */
export const send = Effect.gen(function* () {
  const sqs = yield* Sqs
  const jobs = yield* JobStore
  const producer = yield* Producer.make(reportJobs(settings.queue))
  const messageIds: Array<string> = []
  for (const scene of scenes) {
    if (scene.job !== undefined) {
      yield* jobs.accept(scene.job)
      yield* Outbox.pass(settings, producer)
      const row = yield* Effect.flatten(jobs.get(scene.job.jobId))
      messageIds.push(row.messageId ?? "")
      continue
    }
    // What is no job does not get into the database.
    const [result] = yield* sqs.sendBatch(producer.queueUrl, [{ body: scene.body }])
    if (result?._tag !== "Done") return yield* new StoryFailed({ reason: "The malformed message could not be sent." })
    messageIds.push(result.value.messageId)
  }
  return messageIds
})

/**
 * The worker, its runs written into the server's journal.
 *
 * @since 0.1.0
 * @category acts
 */
export const worker = (progress: Map<string, Progress>) =>
  Effect.flatMap(VirtualSqs, ({ journal }) =>
    ReportWorker.run(settings, {
      handler: Tracking.tracked(
        { journal, queue: settings.queue },
        handler(settings, (job, p) => Effect.sync(() => void progress.set(job.jobId, p)))
      )
    })
  )

/**
 * Completes when the server has none of the jobs any more: neither visible, nor hidden, nor delayed.
 *
 * @since 0.1.0
 * @category acts
 */
export const untilDone = Effect.gen(function* () {
  const virtual = yield* VirtualSqs
  yield* virtual.counters(settings.queue).pipe(
    Effect.repeat({
      while: (n) => n.visible + n.inFlight + n.delayed > 0,
      schedule: Schedule.spaced("100 millis")
    }),
    Effect.timeoutFail({
      duration: Duration.seconds(timeoutSeconds),
      onTimeout: () => new StoryFailed({ reason: `The jobs were not done within ${timeoutSeconds} s.` })
    })
  )
})

const write = (text: string) => Effect.sync(() => void process.stdout.write(text))

/** The board, drawn over itself each time. */
const drawBoard = (messageIds: ReadonlyArray<string>, progress: ReadonlyMap<string, Progress>) => {
  let drawn = 0
  return Effect.gen(function* () {
    const { journal } = yield* VirtualSqs
    const now = yield* Clock.currentTimeMillis
    const lines = board(JournalQuery.read(journal.entries), messageIds, progress, now)
    const up = drawn === 0 ? "" : `\u001b[${drawn}A`
    drawn = lines.length
    // a line that wrapped would be two
    const fits = Math.max(20, process.stdout.columns - 1)
    yield* write(up + lines.map((line) => `\u001b[2K${line.slice(0, fits)}\n`).join(""))
  })
}

/** A line for each entry of the journal that came since the last time. */
const writeLines = (messageIds: ReadonlyArray<string>, startedAt: number) => {
  let seen = 0
  const lineOf = (entry: JournalEntry, before: ReadonlyArray<JournalEntry>) => {
    if (!("messageId" in entry)) return undefined
    const scene = scenes[messageIds.indexOf(entry.messageId)]
    const life = JournalQuery.read(before).messages.get(entry.messageId)
    return scene === undefined ? undefined : eventLine(entry, life, scene, startedAt)
  }
  return Effect.gen(function* () {
    const { entries } = (yield* VirtualSqs).journal
    const lines = entries.slice(seen).map((entry, i) => lineOf(entry, entries.slice(0, seen + i)))
    seen = entries.length
    yield* write(lines.flatMap((line) => (line === undefined ? [] : [line + "\n"])).join(""))
  })
}

/**
 * What shows how it goes, once each time it runs: at a terminal a board, else lines.
 *
 * @since 0.1.0
 * @category acts
 */
export const show = (messageIds: ReadonlyArray<string>, progress: ReadonlyMap<string, Progress>, startedAt: number) =>
  process.stdout.isTTY ? drawBoard(messageIds, progress) : writeLines(messageIds, startedAt)
