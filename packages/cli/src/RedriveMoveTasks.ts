/**
 * Whether SQS itself is moving messages out of a dead-letter queue.
 *
 * @since 0.1.0
 */
import { ListMessageMoveTasksCommand, SQSClient, type SQSClientConfig } from "@aws-sdk/client-sqs"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * The service. It fails with the name of the error.
 *
 * @since 0.1.0
 * @category services
 */
export class RedriveMoveTasks extends Context.Tag("@effect-sqs/cli/RedriveMoveTasks")<
  RedriveMoveTasks,
  { readonly isRunning: (arn: string) => Effect.Effect<boolean, string> }
>() {}

/**
 * The service on the AWS SDK.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (config: SQSClientConfig): Layer.Layer<RedriveMoveTasks> => {
  const silent = () => {}
  const logger = { trace: silent, debug: silent, info: silent, warn: silent, error: silent }
  return Layer.scoped(
    RedriveMoveTasks,
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new SQSClient({ logger, maxAttempts: 3, ...config })),
        (client) => Effect.sync(() => client.destroy())
      ),
      (client) => ({
        isRunning: (SourceArn) =>
          Effect.tryPromise({
            try: async (abortSignal) => {
              const command = new ListMessageMoveTasksCommand({ SourceArn, MaxResults: 10 })
              const { Results = [] } = await client.send(command, { abortSignal })
              return Results.some(({ Status }) => Status === "RUNNING" || Status === "CANCELLING")
            },
            catch: (e) => (e instanceof Error ? e.name : String(e))
          })
      })
    )
  )
}
