/**
 * A value for each year as columns.
 *
 * @since 0.1.0
 */
import { scaleBand, scaleLinear } from "d3-scale"
import { whole } from "../ReportText.js"
import { type Mark, rect, rule, type Size, text } from "./Mark.js"
import { palette } from "./Palette.js"

/** A scale that ends below this would have broken numbers as its ticks. */
const least = 5
const margin = { top: 12, right: 4, bottom: 20, left: 34 }

/**
 * @since 0.1.0
 * @category charts
 */
export const yearColumns = (
  years: ReadonlyArray<{ readonly year: number; readonly value: number }>,
  size: Size
): ReadonlyArray<Mark> => {
  const right = size.width - margin.right
  const bottom = size.height - margin.bottom
  const y = scaleLinear([0, Math.max(least, ...years.map((d) => d.value))], [bottom, margin.top]).nice(5)
  const x = scaleBand(
    years.map((d) => d.year),
    [margin.left, right]
  ).padding(0.25)
  return [
    ...y
      .ticks(5)
      .flatMap((v) => [
        rule(margin.left, y(v), right, y(v), v === 0 ? palette.muted : palette.hairline, v === 0 ? 0.8 : 0.5),
        text(whole(v), margin.left - 6, y(v) + 2.8, { anchor: "end", color: palette.muted })
      ]),
    ...years.flatMap((d) => {
      const middle = x(d.year)! + x.bandwidth() / 2
      return [
        rect(x(d.year)!, y(d.value), x.bandwidth(), bottom - y(d.value), palette.bar),
        text(whole(d.value), middle, y(d.value) - 4, { anchor: "middle", color: palette.ink }),
        text(String(d.year), middle, bottom + 13, { anchor: "middle", color: palette.muted })
      ]
    })
  ]
}
