/**
 * A dead-letter queue as an operator finds it: what it is, and who sends to it.
 *
 * @since 0.1.0
 */
import { type QueueAttributes, Sqs } from "@effect-sqs/core/Sqs"
import type { SqsError } from "@effect-sqs/core/SqsError"
import { isUrl, nameOf } from "@effect-sqs/core/SqsQueue"
import * as Effect from "effect/Effect"
import { NotADeadLetterQueue } from "./DeadLetterError.js"
import { SqsInspector } from "./SqsInspector.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface DeadLetterQueue {
  readonly url: string
  readonly name: string
  readonly attributes: QueueAttributes
  /** URLs of the queues that name it in their redrive policy; `undefined`: it is not allowed to ask */
  readonly sources: ReadonlyArray<string> | undefined
}

/**
 * Another queue of the same account and region, by its name.
 *
 * @since 0.1.0
 * @category getters
 */
export const sibling = (url: string, name: string): string => url.slice(0, url.lastIndexOf("/") + 1) + name

/**
 * Finds the queue and makes sure, as far as can be seen, that it holds dead letters. A queue that no other names is refused
 * unless `anyQueue`: a consumer may dead-letter to a queue that no redrive policy names.
 *
 * @since 0.1.0
 * @category constructors
 */
export const open = (
  nameOrUrl: string,
  options: { readonly anyQueue?: boolean | undefined } = {}
): Effect.Effect<DeadLetterQueue, SqsError | NotADeadLetterQueue, Sqs | SqsInspector> =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const inspector = yield* SqsInspector
    const url = isUrl(nameOrUrl) ? nameOrUrl : yield* sqs.queueUrl(nameOrUrl)
    const name = nameOf(url)
    const attributes = yield* sqs.attributes(url)
    const sources = yield* Effect.option(inspector.sources(url))
    const found = sources._tag === "Some" ? sources.value : undefined
    if (options.anyQueue !== true && found !== undefined && found.length === 0) {
      const target = attributes.redrivePolicy?.deadLetterTargetArn
      const deadLetters = target === undefined ? undefined : target.slice(target.lastIndexOf(":") + 1)
      return yield* new NotADeadLetterQueue({ queue: name, ...(deadLetters === undefined ? {} : { deadLetters }) })
    }
    return { url, name, attributes, sources: found }
  })
