/**
 * How a painter works: step by step, so that whoever drives it decides after each when to go on.
 *
 * @since 0.1.0
 */

/**
 * The bytes that a step made, and how many pages are finished; in forms without pages a hundred rows count as one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Step {
  readonly bytes: ReadonlyArray<Uint8Array>
  readonly pages: number
  readonly of: number
}

/**
 * @since 0.1.0
 * @category constants
 */
export const rowsPerStep = 100

/**
 * All steps of a painter; it may wait for its own machinery between two.
 *
 * @since 0.1.0
 * @category models
 */
export type Steps = Iterable<Step> | AsyncIterable<Step>
