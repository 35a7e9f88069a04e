/**
 * The colours of the reports. Dark enough on white for text (contrast 4.5 or more), and told apart when printed grey.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category constants
 */
export const palette = {
  ink: "#1b2733",
  muted: "#5a6672",
  hairline: "#d5dbe1",
  stripe: "#f4f6f8",
  accent: "#0f4c81",
  bar: "#4a86b8",
  barLight: "#b4cfe4",
  alert: "#b3261e"
} as const
