/**
 * Amazon SQS in virtual time and over HTTP, to test workers against.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 */
export * as Journal from "./Journal.js"

/**
 * @since 0.1.0
 */
export * as Fault from "./Fault.js"

/**
 * @since 0.1.0
 */
export * as FaultPlan from "./FaultPlan.js"

/**
 * @since 0.1.0
 */
export * as SimClock from "./SimClock.js"

/**
 * @since 0.1.0
 */
export * as JournalQuery from "./JournalQuery.js"

/**
 * @since 0.1.0
 */
export * as Tracking from "./Tracking.js"

/**
 * @since 0.1.0
 */
export * as VirtualSqs from "./VirtualSqs.js"

/**
 * @since 0.1.0
 */
export * as VirtualSqsPolicy from "./VirtualSqsPolicy.js"

/**
 * @since 0.1.0
 */
export * as Timeline from "./Timeline.js"

/**
 * @since 0.1.0
 */
export * as SqsServer from "./SqsServer.js"

/**
 * @since 0.1.0
 */
export * as Invariants from "./Invariants.js"

/**
 * @since 0.1.0
 */
export * as Conformance from "./Conformance.js"
