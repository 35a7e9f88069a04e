/**
 * Text for HTML and SVG.
 *
 * @since 0.1.0
 */

const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" }

/**
 * The text as it may stand in an element or in a quoted attribute.
 *
 * @since 0.1.0
 * @category rendering
 */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => entities[c]!)
