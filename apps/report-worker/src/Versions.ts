/**
 * What decides the content of a report besides its job. Both are part of an artifact's name: other data or another look,
 * other file.
 *
 * @since 0.1.0
 */

/**
 * Which data the reports are from.
 *
 * @since 0.1.0
 * @category constants
 */
export const dataVersion = "vega-datasets-3.2.1"

/**
 * How the reports look: to be raised when the same job shall give other bytes.
 *
 * @since 0.1.0
 * @category constants
 */
export const layoutVersion = 3
