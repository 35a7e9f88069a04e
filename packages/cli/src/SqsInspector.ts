/**
 * What an operator looks at and a consumer does not: the attributes of a queue as SQS gives them, the queues that name it as
 * their dead-letter queue, and which calls are allowed.
 *
 * @since 0.1.0
 */
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  paginateListDeadLetterSourceQueues,
  ReceiveMessageCommand,
  SQSClient,
  type SQSClientConfig
} from "@aws-sdk/client-sqs"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"

/**
 * The actions whose permission can be asked without changing anything: a delete and a change of visibility with a receipt
 * handle that is none, and a receive of eleven messages, which is one too many, are refused either for want of permission,
 * or for what they ask.
 *
 * @since 0.1.0
 * @category models
 */
export type Probe = "sqs:ReceiveMessage" | "sqs:DeleteMessage" | "sqs:ChangeMessageVisibility"

/**
 * A look that was refused or did not come through.
 *
 * @since 0.1.0
 * @category errors
 */
export class LookError extends Schema.TaggedError<LookError>()("LookError", {
  /** the IAM action that it needs, as `sqs:GetQueueAttributes` */
  action: Schema.String,
  queue: Schema.String,
  code: Schema.String,
  /** `true`: for want of permission */
  isDenied: Schema.Boolean,
  /** `true`: there is no such queue */
  isMissing: Schema.Boolean,
  detail: Schema.String
}) {
  override get message() {
    return `${this.action} on ${this.queue}: ${this.code}: ${this.detail}`
  }
}

/**
 * The service.
 *
 * @since 0.1.0
 * @category services
 */
export class SqsInspector extends Context.Tag("@effect-sqs/cli/SqsInspector")<
  SqsInspector,
  {
    /** all attributes, by the names of the API */
    readonly attributes: (queueUrl: string) => Effect.Effect<Readonly<Record<string, string>>, LookError>
    /** the URL of a queue by its name; in another account where one is given */
    readonly queueUrl: (name: string, accountId?: string) => Effect.Effect<string, LookError>
    /** URLs of the queues that name this one as their dead-letter queue */
    readonly sources: (queueUrl: string) => Effect.Effect<ReadonlyArray<string>, LookError>
    /** whether the action is allowed, as far as can be told */
    readonly isAllowed: (queueUrl: string, action: Probe) => Effect.Effect<boolean, LookError>
  }
>() {}

const DENIED = /AccessDenied|NotAuthorized|UnauthorizedOperation/
const MISSING = /NonExistentQueue|QueueDoesNotExist/

const look = <A>(action: string, queue: string, run: (abortSignal: AbortSignal) => Promise<A>) =>
  Effect.tryPromise({
    try: run,
    catch: (thrown) => {
      const error = thrown instanceof Error ? thrown : new Error(String(thrown))
      return new LookError({
        action,
        queue,
        code: error.name,
        isDenied: DENIED.test(error.name),
        isMissing: MISSING.test(error.name),
        detail: error.message.split("\n", 1)[0]!
      })
    }
  })

const NO_HANDLE = "effect-sqs-doctor"

const make = (client: SQSClient): SqsInspector["Type"] => ({
  attributes: (QueueUrl) =>
    look("sqs:GetQueueAttributes", QueueUrl, async (abortSignal) => {
      const command = new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ["All"] })
      return (await client.send(command, { abortSignal })).Attributes ?? {}
    }),
  queueUrl: (QueueName, accountId) =>
    look("sqs:GetQueueUrl", QueueName, async (abortSignal) => {
      const owner = accountId === undefined ? {} : { QueueOwnerAWSAccountId: accountId }
      return (await client.send(new GetQueueUrlCommand({ QueueName, ...owner }), { abortSignal })).QueueUrl ?? ""
    }),
  sources: (QueueUrl) =>
    look("sqs:ListDeadLetterSourceQueues", QueueUrl, async () => {
      const urls: Array<string> = []
      for await (const page of paginateListDeadLetterSourceQueues({ client, pageSize: 1000 }, { QueueUrl })) {
        urls.push(...(page.queueUrls ?? []))
      }
      return urls
    }),
  isAllowed: (QueueUrl, action) => {
    const handle = { QueueUrl, ReceiptHandle: NO_HANDLE }
    const asked = look(action, QueueUrl, async (abortSignal): Promise<void> => {
      switch (action) {
        case "sqs:ReceiveMessage":
          await client.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 11 }), { abortSignal })
          return
        case "sqs:DeleteMessage":
          await client.send(new DeleteMessageCommand(handle), { abortSignal })
          return
        case "sqs:ChangeMessageVisibility":
          await client.send(new ChangeMessageVisibilityCommand({ ...handle, VisibilityTimeout: 1 }), { abortSignal })
      }
    })
    return asked.pipe(
      Effect.as(true),
      Effect.catchAll((e) =>
        e.isDenied
          ? Effect.succeed(false)
          : /ReceiptHandleIsInvalid|InvalidParameterValue|ReadCountOutOfRange|InvalidAddress/.test(e.code)
            ? Effect.succeed(true)
            : Effect.fail(e)
      )
    )
  }
})

/**
 * The service on the AWS SDK.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (config: SQSClientConfig): Layer.Layer<SqsInspector> => {
  const silent = () => {}
  const logger = { trace: silent, debug: silent, info: silent, warn: silent, error: silent }
  return Layer.scoped(
    SqsInspector,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new SQSClient({ logger, maxAttempts: 3, ...config })),
        (client) => Effect.sync(() => client.destroy())
      ),
      make
    )
  )
}
