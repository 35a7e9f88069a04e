/**
 * What the command line plays.
 *
 * @since 0.1.0
 */
export * as Drills from "./Drills.js"
export * as Stage from "./Stage.js"
