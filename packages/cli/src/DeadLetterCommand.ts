/**
 * `dlq`: dead letters.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { badInput, notInOrder } from "./CliError.js"
import { toJson } from "./DeadLetter.js"
import { discard as discardMessages } from "./DeadLetterDiscard.js"
import { isEmpty } from "./DeadLetterFilter.js"
import { type DeadLetterList, list } from "./DeadLetterList.js"
import { show as showMessage } from "./DeadLetterShow.js"
import * as Flags from "./Flags.js"
import * as flags from "./internal/deadLetterFlags.js"
import * as text from "./internal/deadLetterText.js"
import { redrive } from "./RedriveCommand.js"
import { Screen } from "./Screen.js"

/** what a person who pressed Ctrl-C wants to know */
const puttingBack = <A, E, R>(self: Effect.Effect<A, E, R>) =>
  Effect.onInterrupt(self, () =>
    Console.error("Stopped. What was taken is put back; each of these counts one receive more.")
  )

const listJson = ({ queue, ...result }: DeadLetterList) => ({ queue: queue.name, queueUrl: queue.url, ...result })

const ls = Command.make(
  "ls",
  {
    queue: Flags.queue,
    ...flags.filter,
    messages: Options.boolean("messages").pipe(Options.withDescription("each message in a line, instead of groups")),
    ...flags.scan,
    anyQueue: flags.anyQueue,
    json: Flags.json,
    ...Flags.connection
  },
  (asked) =>
    flags.connected(asked, () =>
      Effect.gen(function* () {
        const result = yield* puttingBack(
          list(asked.queue, {
            anyQueue: asked.anyQueue,
            filter: yield* flags.filterOf(asked),
            max: asked.scan,
            time: asked.scanTime
          })
        )
        yield* Console.log(
          asked.json ? JSON.stringify(listJson(result), null, 2) : text.list(result, asked.messages, yield* Screen)
        )
      })
    )
).pipe(
  Command.withDescription(
    "What lies in a dead-letter queue, by reason, type and source. Looking counts one receive on each message; all are put back."
  )
)

const show = Command.make(
  "show",
  {
    queue: Flags.queue,
    ...flags.filter,
    ...flags.scan,
    anyQueue: flags.anyQueue,
    json: Flags.json,
    ...Flags.connection,
    message: Args.text({ name: "message" }).pipe(
      Args.withDescription("its MessageId, or its number in dlq ls --messages with the same filter")
    )
  },
  (asked) =>
    flags.connected(asked, () =>
      Effect.gen(function* () {
        const which = /^\d{1,6}$/.test(asked.message) ? Number(asked.message) : asked.message
        const found = yield* puttingBack(
          showMessage(asked.queue, which, {
            anyQueue: asked.anyQueue,
            filter: yield* flags.filterOf(asked),
            max: asked.scan,
            time: asked.scanTime
          })
        )
        const { history, letter, looked, queue } = found
        yield* Console.log(
          asked.json
            ? JSON.stringify({ queue, looked, history, message: toJson(letter) }, null, 2)
            : text.detail(found, yield* Screen)
        )
      })
    )
).pipe(Command.withDescription("One message in full: body, attributes, history. It is put back."))

const discard = Command.make(
  "discard",
  {
    queue: Flags.queue,
    ...flags.filter,
    because: Flags.optional(Options.text("because")).pipe(
      Options.withDescription("why these messages are not needed; goes into the file")
    ),
    keepIn: Flags.optional(Flags.path("keep-in")).pipe(
      Options.withDescription("file that keeps the messages, JSON lines; discarded-QUEUE.jsonl unless given")
    ),
    all: Options.boolean("all").pipe(Options.withDescription("all messages, where no filter says which")),
    confirm: Flags.optional(Options.text("confirm")).pipe(
      Options.withPseudoName("queue-name"),
      Options.withDescription("name of the queue: discards. Without it nothing is discarded, only shown")
    ),
    ...flags.scan,
    anyQueue: flags.anyQueue,
    json: Flags.json,
    ...Flags.connection
  },
  (asked) =>
    flags.connected(asked, () =>
      Effect.gen(function* () {
        const filter = yield* flags.filterOf(asked)
        const screen = yield* Screen
        if (asked.confirm === undefined) {
          const result = yield* puttingBack(
            list(asked.queue, { anyQueue: asked.anyQueue, filter, max: asked.scan, time: asked.scanTime })
          )
          if (asked.json) return yield* Console.log(JSON.stringify({ discarded: 0, ...listJson(result) }, null, 2))
          yield* Console.log(text.list(result, false, screen))
          return yield* Console.log(
            `\nNothing was discarded. To discard ${text.messages(result.matching)}, say ${asked.because === undefined ? `--because "…" ` : ""}--confirm ${result.queue.name}` +
              `${isEmpty(filter) ? " --all" : ""}; they are kept in a file.`
          )
        }
        if (asked.because === undefined)
          return yield* badInput('Say with --because "…" why these messages are not needed.')
        if (isEmpty(filter) && !asked.all) {
          return yield* badInput("No filter says which messages: give one (--reason, --type, --body, …), or say --all.")
        }
        const report = yield* discardMessages({
          queue: asked.queue,
          anyQueue: asked.anyQueue,
          filter,
          reason: asked.because,
          keepIn: asked.keepIn ?? `discarded-${asked.confirm}.jsonl`,
          confirm: asked.confirm,
          actor: flags.actor(),
          max: asked.scan,
          onReport: (r) => Console.log(asked.json ? JSON.stringify(r, null, 2) : text.discarded(r, screen))
        })
        if (report.failed > 0 || report.stopped !== undefined) return yield* notInOrder
      })
    )
).pipe(
  Command.withDescription(
    "Messages that nobody needs any more: into a file, with a reason, and out of the queue. Shows them only, unless confirmed."
  )
)

/**
 * @since 0.1.0
 * @category commands
 */
export const dlq = Command.make("dlq").pipe(
  Command.withDescription(
    "Dead letters: look without losing, send back a few, then the rest, or discard with a reason."
  ),
  Command.withSubcommands([ls, show, redrive, discard])
)
