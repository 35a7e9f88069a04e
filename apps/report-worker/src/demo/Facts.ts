/**
 * What became of each job, from what the server knows: its journal and its dead-letter queue. The worker's own books
 * are not asked.
 *
 * Of a run no server can know by itself. The demo has the start and the end of each handler run written into the server's
 * journal at that moment, beside the calls (`Tracking`), so `runs` are counted there, in one order with receives and beats.
 *
 * @since 0.1.0
 */
import type { ReceivedMessage } from "@effect-sqs/core/Sqs"
import type * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import { type Kind, longFactor, nameOf, type Scene, scenes, visibilitySeconds } from "./Story.js"

/**
 * One entry of `demo.json`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fact {
  readonly jobId: string | null
  readonly kind: Kind
  readonly receives: number
  readonly heartbeats: number
  readonly runs: number
  readonly outcome: "completed" | "dead-lettered" | "open"
  /** relative to the repository's root */
  readonly artifact: string | null
}

/**
 * A fact with what the table and the verdict want to know besides.
 *
 * @since 0.1.0
 * @category models
 */
export interface Told {
  readonly scene: Scene
  readonly fact: Fact
  readonly life: JournalQuery.MessageLife | undefined
  /** why it is in the dead-letter queue, as its copy there says */
  readonly reason: string | undefined
  /** the longest run, in ms */
  readonly longestRunMs: number
}

/**
 * The deliveries from the queue that the message was sent to: whoever reads the dead letters receives too.
 *
 * @since 0.1.0
 * @category queries
 */
export const deliveriesOf = (life: JournalQuery.MessageLife | undefined): ReadonlyArray<JournalQuery.Delivery> =>
  life === undefined ? [] : life.deliveries.filter((delivery) => delivery.queue === life.sent?.queue)

/**
 * How many heartbeats the server carried out.
 *
 * @since 0.1.0
 * @category queries
 */
export const beatsOf = (deliveries: ReadonlyArray<JournalQuery.Delivery>): number =>
  deliveries.flatMap((delivery) => delivery.asks).filter((ask) => ask.kind === "beat" && ask.tookEffect).length

/** The names of the attributes that a dead-letter copy carries. */
const reasonAttribute = "effect_sqs.reason"
const originalAttribute = "effect_sqs.message_id"

const attribute = (message: ReceivedMessage, name: string) => message.attributes[name]?.stringValue

/**
 * `messageIds` are those that the server gave to the scenes, `deadLetters` what it handed out of the dead-letter queue,
 * `artifactOf` the file of a job that is there.
 *
 * @since 0.1.0
 * @category constructors
 */
export const gather = (
  view: JournalQuery.JournalView,
  messageIds: ReadonlyArray<string>,
  deadLetters: ReadonlyArray<ReceivedMessage>,
  artifactOf: (scene: Scene) => string | null
): ReadonlyArray<Told> =>
  scenes.map((scene, i) => {
    const id = messageIds[i] ?? ""
    const life = view.messages.get(id)
    const deliveries = deliveriesOf(life)
    const copy = deadLetters.find((m) => m.messageId === id || attribute(m, originalAttribute) === id)
    const runs = deliveries.flatMap((delivery) => delivery.runs)
    return {
      scene,
      life,
      reason: copy === undefined ? undefined : (attribute(copy, reasonAttribute) ?? "received too often"),
      longestRunMs: Math.max(0, ...runs.map((run) => (run.ended?.at ?? run.started.at) - run.started.at)),
      fact: {
        jobId: scene.job?.jobId ?? null,
        kind: scene.kind,
        receives: deliveries.length,
        heartbeats: beatsOf(deliveries),
        runs: runs.length,
        outcome: copy !== undefined ? "dead-lettered" : life?.end?._tag === "Deleted" ? "completed" : "open",
        artifact: artifactOf(scene)
      }
    }
  })

const expected = (told: Told): ReadonlyArray<readonly [boolean, string]> => {
  const { fact, longestRunMs } = told
  const completed = [
    [fact.outcome === "completed", `is ${fact.outcome}, not completed`],
    [fact.artifact !== null, "has no report"]
  ] as const
  const deadLettered = [
    [fact.outcome === "dead-lettered", `is ${fact.outcome}, not in the dead-letter queue`],
    [fact.artifact === null, "has a report"]
  ] as const
  const times = (what: "receives" | "runs", n: number) => [fact[what] === n, `${fact[what]} ${what}, not ${n}`] as const
  switch (fact.kind) {
    case "ordinary":
      return [times("receives", 1), times("runs", 1), ...completed]
    case "long":
      return [
        times("receives", 1),
        times("runs", 1),
        [fact.heartbeats >= 2, `${fact.heartbeats} heartbeats, not 2 or more`],
        [
          longestRunMs >= longFactor * visibilitySeconds * 1000,
          `ran ${longestRunMs} ms, not ${longFactor} times the visibility`
        ],
        ...completed
      ]
    case "flaky":
      return [times("receives", 3), times("runs", 3), ...completed]
    case "failing":
      return [times("runs", fact.receives), [fact.runs >= 1, "never ran"], ...deadLettered]
    case "malformed":
      return [times("runs", 0), ...deadLettered]
  }
}

/**
 * What did not come out as told; empty: all did.
 *
 * @since 0.1.0
 * @category verdict
 */
export const deviations = (told: ReadonlyArray<Told>, deadLetters: number): ReadonlyArray<string> => [
  ...told.flatMap((t) => expected(t).flatMap(([ok, text]) => (ok ? [] : [`${nameOf(t.scene)}: ${text}`]))),
  ...(deadLetters === 2 ? [] : [`${deadLetters} messages in the dead-letter queue, not 2`])
]
