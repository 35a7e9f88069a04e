/**
 * What a reconciler or a person says of an outside call whose outcome is unknown.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * A verdict. Each but `StillUnknown` raises the attempt, so that the owner who began the call can no longer report.
 *
 * - `Happened(result)`: the call was made. Its result, in the encoded form of the call's schema, is remembered as if the
 *   call had answered; the job is run again and goes on after the call
 * - `DidNotHappen`: the job may be run again, and make the call again
 * - `StillUnknown`: ask again later
 * - `Completed(result)`: the whole job counts as done, with this result in the encoded form of the job's schema
 * - `Rejected(reason)`: the job is not to be run again
 *
 * A key whose cancel was asked for becomes `cancelled` instead of being run again.
 *
 * @since 0.1.0
 * @category models
 */
export type Verdict = Data.TaggedEnum<{
  Happened: { readonly result: unknown }
  DidNotHappen: {}
  StillUnknown: {}
  Completed: { readonly result: unknown }
  Rejected: { readonly reason: string }
}>

/**
 * @since 0.1.0
 * @category constructors
 */
export const Verdict = Data.taggedEnum<Verdict>()
