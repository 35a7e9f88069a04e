/**
 * A ranking as horizontal bars: a code, a name and the value in words before each.
 *
 * @since 0.1.0
 */
import { scaleBand, scaleLinear } from "d3-scale"
import { whole } from "../ReportText.js"
import { type Mark, rect, rule, type Size, text } from "./Mark.js"
import { palette } from "./Palette.js"

/** At the right half of the last label has room. */
const margin = { top: 4, right: 16, bottom: 20, left: 200 }
const valueWidth = 46
const gap = 8

/** Where the name begins after the code, so that names stand in line. */
const codeWidth = 24

/**
 * One bar. `code` may be empty; `shown` is the value as it is written.
 *
 * @since 0.1.0
 * @category models
 */
export interface RankedBar {
  readonly code: string
  readonly name: string
  readonly value: number
  readonly shown: string
}

/**
 * The bars from top to bottom, at the height that `most` of them would have. The scale reaches `least` at least.
 *
 * @since 0.1.0
 * @category charts
 */
export const rankedBars = (
  rows: ReadonlyArray<RankedBar>,
  size: Size,
  { least, most }: { readonly least: number; readonly most: number }
): ReadonlyArray<Mark> => {
  const right = size.width - margin.right
  // Few bars keep their height, and the axis stays below the last.
  const bottom = margin.top + ((size.height - margin.top - margin.bottom) * rows.length) / most
  const values = rows.map((r) => r.value)
  const x = scaleLinear([Math.min(0, ...values), Math.max(least, ...values)], [margin.left, right]).nice(5)
  const y = scaleBand(
    rows.map((_, i) => i),
    [margin.top, bottom]
  ).padding(0.28)
  const nameAt = rows.some((r) => r.code !== "") ? codeWidth : 0
  return [
    ...x
      .ticks(5)
      .flatMap((v) => [
        rule(x(v), margin.top, x(v), bottom, v === 0 ? palette.muted : palette.hairline, v === 0 ? 0.8 : 0.5),
        text(whole(v), x(v), bottom + 13, { anchor: "middle", color: palette.muted })
      ]),
    ...rows.flatMap((r, i) => {
      const [from, to] = r.value >= 0 ? [x(0), x(r.value)] : [x(r.value), x(0)]
      const base = y(i)! + y.bandwidth() / 2 + 2.8
      return [
        rect(from, y(i)!, to - from, y.bandwidth(), palette.bar),
        ...(r.code === "" ? [] : [text(r.code, 0, base, { color: palette.ink })]),
        text(r.name, nameAt, base, { color: palette.ink, width: margin.left - gap - valueWidth - nameAt }),
        text(r.shown, margin.left - gap, base, { anchor: "end", bold: true, color: palette.ink })
      ]
    })
  ]
}
