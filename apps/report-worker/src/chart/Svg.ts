/**
 * A chart as SVG, with a title and a description for those who cannot see it.
 *
 * @since 0.1.0
 */
import type { Chart } from "../report/Report.js"
import { escape } from "../html/Escape.js"
import type { Mark, TextMark } from "./Mark.js"

const textOf = (m: TextMark, x: number, y: number) =>
  `<text x="${x}" y="${y}" font-size="${m.size}" fill="${m.color}"` +
  (m.anchor === "start" ? "" : ` text-anchor="${m.anchor}"`) +
  (m.bold === true ? ` font-weight="700"` : "") +
  `>${escape(m.text)}</text>`

const svgOfMark = (m: Mark): string => {
  if (m._tag === "Path") {
    const stroke = m.stroke === undefined ? "" : ` stroke="${m.stroke.color}" stroke-width="${m.stroke.width}"`
    return `<path d="${m.d}" fill="${m.fill ?? "none"}"${stroke}/>`
  }
  if (m.width === undefined) return textOf(m, m.x, m.y)
  // What is too long is cut off: an SVG within, and its edge.
  const height = 1.5 * m.size
  return `<svg x="${m.x}" y="${m.y - m.size}" width="${m.width}" height="${height}">${textOf(m, 0, m.size)}</svg>`
}

/**
 * `id` is unique in its page.
 *
 * @since 0.1.0
 * @category rendering
 */
export const svgOf = (chart: Chart, id: string): string =>
  `<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-labelledby="${id}-title ${id}-desc" ` +
  `viewBox="0 0 ${chart.width} ${chart.height}"><title id="${id}-title">${escape(chart.title)}</title>` +
  `<desc id="${id}-desc">${escape(chart.description)}</desc>${chart.marks.map(svgOfMark).join("")}</svg>`
