/**
 * The mean arrival delay of each day as columns, with the mean of seven days as a line.
 *
 * @since 0.1.0
 */
import { extent } from "d3-array"
import { scaleBand, scaleLinear } from "d3-scale"
import { curveMonotoneX, line } from "d3-shape"
import type { Day } from "../data/FlightDelays.js"
import { type ReportText, whole } from "../ReportText.js"
import { type Mark, rect, rule, type Size, text } from "./Mark.js"
import { palette } from "./Palette.js"

/** A scale that ends below this would have broken minutes as its ticks. */
const leastMinutes = 5
const margin = { top: 22, right: 4, bottom: 20, left: 28 }

/** Days that get a label: the first, then one a week where a month is shown, two a month where a quarter is. */
const isLabelled = (day: Day, i: number, n: number): boolean => {
  const ofMonth = Number(day.date.slice(8))
  return n > 31 ? ofMonth === 1 || ofMonth === 15 : i % 5 === 0 && i < n - 2
}

const legend = (t: ReportText): ReadonlyArray<Mark> => {
  const entries = [
    { label: t.daily.weekday, mark: (x: number) => rect(x, 3, 8, 8, palette.bar) },
    { label: t.daily.weekend, mark: (x: number) => rect(x, 3, 8, 8, palette.barLight) },
    { label: t.daily.sevenDays, mark: (x: number) => rule(x - 2, 7, x + 10, 7, palette.alert, 1.4) }
  ]
  const step = 96
  return entries.flatMap(({ label, mark }, i) => {
    const x = margin.left + step * i
    return [mark(x), text(label, x + 14, 10, { color: palette.muted })]
  })
}

/**
 * @since 0.1.0
 * @category charts
 */
export const dailyDelays = (days: ReadonlyArray<Day>, t: ReportText, size: Size): ReadonlyArray<Mark> => {
  const right = size.width - margin.right
  const bottom = size.height - margin.bottom
  const [low = 0, high = 0] = extent(days.flatMap((d) => [d.meanDelay ?? 0, d.meanOfSevenDays ?? 0]))
  const y = scaleLinear([Math.min(0, low), Math.max(leastMinutes, high)], [bottom, margin.top]).nice(5)
  const x = scaleBand(
    days.map((d) => d.date),
    [margin.left, right]
  ).padding(0.25)
  const ticks = y.ticks(5)

  const grid = ticks.flatMap((v) => [
    rule(margin.left, y(v), right, y(v), v === 0 ? palette.muted : palette.hairline, v === 0 ? 0.8 : 0.5),
    text(whole(v), margin.left - 6, y(v) + 2.8, { anchor: "end", color: palette.muted })
  ])
  const columns = days.flatMap((d) => {
    if (d.meanDelay === undefined) return []
    const [top, base] = d.meanDelay >= 0 ? [y(d.meanDelay), y(0)] : [y(0), y(d.meanDelay)]
    const weekend = d.weekday === 0 || d.weekday === 6
    return [rect(x(d.date)!, top, x.bandwidth(), base - top, weekend ? palette.barLight : palette.bar)]
  })
  const trend = line<Day>()
    .digits(2)
    .defined((d) => d.meanOfSevenDays !== undefined)
    .x((d) => x(d.date)! + x.bandwidth() / 2)
    .y((d) => y(d.meanOfSevenDays!))
    .curve(curveMonotoneX)(days)
  const labels = days.flatMap((d, i) =>
    isLabelled(d, i, days.length)
      ? [text(t.date(d.date), x(d.date)! + x.bandwidth() / 2, bottom + 13, { anchor: "middle", color: palette.muted })]
      : []
  )
  return [
    ...grid,
    ...columns,
    ...(trend === null ? [] : [{ _tag: "Path" as const, d: trend, stroke: { color: palette.alert, width: 1.4 } }]),
    ...labels,
    ...legend(t)
  ]
}
