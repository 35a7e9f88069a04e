/**
 * Messages that came again when all was done and were not run, kept in the history of their job. It is for people: a write
 * that fails, or takes long, never fails the message.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { type Duplicate, JobStore } from "./JobStore.js"

/** a message does not wait longer for the database to know of it */
const patience = Duration.seconds(2)

const noted = (message: Duplicate, write: (jobs: typeof JobStore.Service) => Effect.Effect<void, unknown>) =>
  Effect.flatMap(JobStore, write).pipe(
    Effect.timeout(patience),
    Effect.catchAllCause((cause) =>
      Effect.logDebug(`message ${message.messageId}: that it was not run again could not be written`, cause)
    )
  )

/**
 * @since 0.1.0
 * @category combinators
 */
export const note = (id: string, message: Duplicate): Effect.Effect<void, never, JobStore> =>
  noted(message, (jobs) => jobs.duplicate(id, message))

/**
 * The same, where of the job only its message is known.
 *
 * @since 0.1.0
 * @category combinators
 */
export const noteMessage = (message: Duplicate): Effect.Effect<void, never, JobStore> =>
  noted(message, (jobs) => jobs.duplicateMessage(message))
