/**
 * What can be seen before a redrive, without changing anything: that queues fit each other, that nobody else moves messages,
 * and what the credentials are allowed.
 *
 * @since 0.1.0
 */
import { type QueueAttributes, Sqs } from "@effect-sqs/core/Sqs"
import { isUrl } from "@effect-sqs/core/SqsQueue"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { DeadLetterQueue } from "./DeadLetterQueue.js"
import { sibling } from "./DeadLetterQueue.js"
import { RedriveMoveTasks } from "./RedriveMoveTasks.js"
import { SqsInspector } from "./SqsInspector.js"

/**
 * One thing that was looked at. `unseen`: it could not be looked at; `blocks`: the redrive must not begin.
 *
 * @since 0.1.0
 * @category models
 */
export interface Check {
  readonly what: string
  readonly state: "ok" | "warns" | "blocks" | "unseen"
  readonly text: string
}

/**
 * A queue that messages may go to.
 *
 * @since 0.1.0
 * @category models
 */
export interface Target {
  readonly url: string
  readonly name: string
  readonly attributes: QueueAttributes
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Preflight {
  readonly checks: ReadonlyArray<Check>
  /** by the name of the source; `null` for messages without one. Those that block are not here */
  readonly targets: ReadonlyMap<string | null, Target>
}

const check = (what: string, state: Check["state"], text: string): Check => ({ what, state, text })

const targetOf = (queue: DeadLetterQueue, target: Target): Array<Check> => {
  const { attributes, name } = target
  const checks: Array<Check> = []
  if (target.url === queue.url || attributes.arn === queue.attributes.arn) {
    checks.push(check(name, "blocks", `${name} is the dead-letter queue itself: nothing can be redriven into it.`))
  } else if (attributes.kind !== queue.attributes.kind) {
    checks.push(
      check(
        name,
        "blocks",
        `${name} is a ${attributes.kind} queue, ${queue.name} is ${queue.attributes.kind}: choose another --to.`
      )
    )
  } else {
    checks.push(
      check(name, "ok", `${name} is there, ${attributes.kind}, and holds about ${attributes.messages} messages.`)
    )
  }
  const { redrivePolicy } = attributes
  if (redrivePolicy === undefined) {
    checks.push(
      check(
        name,
        "warns",
        `${name} has no dead-letter queue: what fails again does not come back here, and is not seen.`
      )
    )
  } else if (redrivePolicy.deadLetterTargetArn !== queue.attributes.arn) {
    const other = redrivePolicy.deadLetterTargetArn.slice(redrivePolicy.deadLetterTargetArn.lastIndexOf(":") + 1)
    checks.push(
      check(
        name,
        "warns",
        `Dead letters of ${name} go to ${other}: what fails again does not come back here, and is not seen.`
      )
    )
  }
  return checks
}

const permissions = (queue: DeadLetterQueue): Effect.Effect<Array<Check>, never, SqsInspector> =>
  Effect.gen(function* () {
    const inspector = yield* SqsInspector
    const checks: Array<Check> = []
    for (const action of ["sqs:DeleteMessage", "sqs:ChangeMessageVisibility"] as const) {
      const allowed = yield* Effect.option(inspector.isAllowed(queue.url, action))
      checks.push(
        Option.isNone(allowed)
          ? check(action, "unseen", `Whether ${action} on ${queue.name} is allowed could not be seen.`)
          : allowed.value
            ? check(action, "ok", `${action} on ${queue.name} is allowed.`)
            : check(
                action,
                "blocks",
                `${action} on ${queue.name} is not allowed: let the policy of these credentials allow it, or use others (AWS_PROFILE).`
              )
      )
    }
    return checks
  })

const moves = (queue: DeadLetterQueue): Effect.Effect<Check, never, RedriveMoveTasks> =>
  Effect.flatMap(RedriveMoveTasks, (tasks) =>
    Effect.match(tasks.isRunning(queue.attributes.arn), {
      onFailure: (why) =>
        check("move task", "unseen", `Whether SQS itself moves messages of ${queue.name} could not be seen (${why}).`),
      onSuccess: (running) =>
        running
          ? check(
              "move task",
              "blocks",
              `A move task of SQS is running on ${queue.name}: wait for it, or cancel it (aws sqs cancel-message-move-task).`
            )
          : check("move task", "ok", `No move task of SQS is running on ${queue.name}.`)
    })
  )

/**
 * Looks at the dead-letter queue and at the queues that messages would go to. `to` is for all messages; without it each
 * source goes back to itself, in the same account and region, and `unknownTo` is for messages without a source.
 *
 * @since 0.1.0
 * @category checks
 */
export const preflight = (
  queue: DeadLetterQueue,
  sources: ReadonlySet<string | undefined>,
  options: { readonly to?: string | undefined; readonly unknownTo?: string | undefined }
): Effect.Effect<Preflight, never, Sqs | SqsInspector | RedriveMoveTasks> =>
  Effect.gen(function* () {
    const sqs = yield* Sqs
    const checks: Array<Check> = [yield* moves(queue), ...(yield* permissions(queue))]
    const targets = new Map<string | null, Target>()
    const known = new Map<string, Target | undefined>()
    for (const source of [...sources].sort()) {
      const nameOrUrl = options.to ?? (source === undefined ? options.unknownTo : source)
      if (nameOrUrl === undefined) continue
      if (!known.has(nameOrUrl)) {
        const url = isUrl(nameOrUrl) ? nameOrUrl : sibling(queue.url, nameOrUrl)
        const found = yield* Effect.either(sqs.attributes(url))
        if (Either.isLeft(found)) {
          checks.push(
            check(
              nameOrUrl,
              "blocks",
              found.left._tag === "QueueMissing"
                ? `There is no queue ${nameOrUrl} any more: say with --to where its messages shall go, or leave them out with --source.`
                : found.left._tag === "AccessDenied"
                  ? `${found.left.action} on ${nameOrUrl} is not allowed: let the policy of these credentials allow it.`
                  : found.left.message
            )
          )
          known.set(nameOrUrl, undefined)
        } else {
          const target = { url, name: url.slice(url.lastIndexOf("/") + 1), attributes: found.right }
          const ofTarget = targetOf(queue, target)
          checks.push(...ofTarget)
          known.set(nameOrUrl, ofTarget.some((c) => c.state === "blocks") ? undefined : target)
        }
      }
      const target = known.get(nameOrUrl)
      if (target !== undefined) targets.set(source ?? null, target)
    }
    checks.push(
      check(
        "sqs:SendMessage",
        "unseen",
        "Whether sqs:SendMessage and the queues' keys (KMS) are allowed shows only when the first message is sent."
      )
    )
    return { checks, targets }
  })
