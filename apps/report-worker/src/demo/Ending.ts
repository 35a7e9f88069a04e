/**
 * How the demo ends: the facts, the table, the timelines and the verdict; or, when a person stops it, what became of each
 * job until then.
 *
 * @since 0.1.0
 */
import { type ReceivedMessage, Sqs } from "@effect-sqs/core/Sqs"
import * as JournalQuery from "@effect-sqs/testing/JournalQuery"
import * as Timeline from "@effect-sqs/testing/Timeline"
import { VirtualSqs } from "@effect-sqs/testing/VirtualSqs"
import * as FileSystem from "@effect/platform/FileSystem"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import path from "node:path"
import { artifactName } from "../store/ArtifactStore.js"
import { standing, table } from "./Board.js"
import { deviations, gather, type Told } from "./Facts.js"
import { deadLetterQueue, out, reports, root } from "./Stage.js"
import { nameOf, type Scene, scenes } from "./Story.js"
import { StoryFailed } from "./StoryFailed.js"

const factsFile = path.join(out, "demo.json")

const artifactOf = (scene: Scene): string | null => {
  if (scene.job === undefined) return null
  const file = path.join(reports, artifactName(scene.job))
  return existsSync(file) ? path.relative(root, file) : null
}

/** Takes the dead letters from the server as anybody would, by receiving; they are not deleted. */
const receiveDeadLetters = Effect.gen(function* () {
  const sqs = yield* Sqs
  const queueUrl = yield* sqs.queueUrl(deadLetterQueue)
  const received: Array<ReceivedMessage> = []
  for (;;) {
    const more = yield* sqs.receive({ queueUrl, maxMessages: 10, waitTimeSeconds: 0, visibilityTimeoutSeconds: 30 })
    if (more.length === 0) return received
    received.push(...more)
  }
})

/**
 * Removes what an earlier demo left: its reports would be found, and not drawn.
 *
 * @since 0.1.0
 * @category acts
 */
export const clean = Effect.flatMap(FileSystem.FileSystem, (fs) =>
  Effect.forEach([reports, factsFile], (p) => fs.remove(p, { recursive: true, force: true }), { discard: true })
)

const lines = (...texts: ReadonlyArray<string>) => Console.log(texts.join("\n"))

const timeline = (told: ReadonlyArray<Told>, kind: "long" | "flaky", title: string) => {
  const life = told.find((t) => t.fact.kind === kind)?.life
  return life === undefined ? Effect.void : lines("", title, "", Timeline.text(life))
}

/**
 * Tells the end and writes `demo.json`. Fails when the story did not come out as told.
 *
 * @since 0.1.0
 * @category acts
 */
export const conclude = (messageIds: ReadonlyArray<string>, startedAt: number) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const { journal } = yield* VirtualSqs
    const deadLetters = yield* receiveDeadLetters
    const told = gather(JournalQuery.read(journal.entries), messageIds, deadLetters, artifactOf)
    const facts = told.map((t) => t.fact)
    yield* fs.writeFileString(factsFile, JSON.stringify(facts, undefined, 2) + "\n")

    yield* lines("", "What became of the twelve jobs, by the server's journal:", "", ...table(told))
    const dead = told.filter((t) => t.reason !== undefined)
    yield* lines("", `Received from ${deadLetterQueue}:`, ...dead.map((t) => `  ${nameOf(t.scene)}: ${t.reason}`))
    yield* timeline(told, "long", "The long job: heartbeats keep it hidden, so it runs once.")
    yield* timeline(told, "flaky", "The job that fails twice: given back for longer each time.")

    const wrong = deviations(told, deadLetters.length)
    if (wrong.length > 0) {
      const reason = ["", "The story did not come out as told:", ...wrong.map((w) => `  ${w}`)].join("\n")
      return yield* new StoryFailed({ reason })
    }
    const seconds = Math.round(((yield* Clock.currentTimeMillis) - startedAt) / 1000)
    const one = facts.find((f) => f.kind === "ordinary")?.artifact
    yield* lines("", `As told, in ${seconds} s. Facts: ${path.relative(root, factsFile)}. A report to look at: ${one}`)
  })

/**
 * What became of each job when a person stops the demo.
 *
 * @since 0.1.0
 * @category acts
 */
export const sayWhatBecame = (messageIds: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { journal } = yield* VirtualSqs
    const now = yield* Clock.currentTimeMillis
    const { messages } = JournalQuery.read(journal.entries)
    yield* lines(
      "",
      "Stopped. What became of each job:",
      ...scenes.map((scene, i) => {
        const id = messageIds[i]
        return `  ${nameOf(scene).padEnd(16)} ${id === undefined ? "not sent" : standing(messages.get(id), now)}`
      }),
      "What is in the queue the next worker would do; this local SQS ends here."
    )
  })
