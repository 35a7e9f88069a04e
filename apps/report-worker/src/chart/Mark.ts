/**
 * A chart as plain data: paths and texts, in points, y downwards from the chart's top left corner. Painters put them on
 * paper or into a page, so that each chart is drawn by the same code everywhere.
 *
 * @since 0.1.0
 */

/**
 * `d` is an SVG path.
 *
 * @since 0.1.0
 * @category models
 */
export interface PathMark {
  readonly _tag: "Path"
  readonly d: string
  readonly fill?: string
  readonly stroke?: { readonly color: string; readonly width: number }
}

/**
 * `y` is the baseline; `anchor` says which end of the text stands at `x`.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextMark {
  readonly _tag: "Text"
  readonly text: string
  readonly x: number
  readonly y: number
  readonly size: number
  readonly anchor: "start" | "middle" | "end"
  readonly color: string
  readonly bold?: boolean
  /** a painter that can measure cuts what is longer */
  readonly width?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export type Mark = PathMark | TextMark

/**
 * @since 0.1.0
 * @category models
 */
export interface Size {
  readonly width: number
  readonly height: number
}

/** Three decimals are finer than any printer; more would only be bytes. */
const n = (x: number) => String(Math.round(x * 1000) / 1000)

/**
 * A filled rectangle.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rect = (x: number, y: number, width: number, height: number, fill: string): Mark => ({
  _tag: "Path",
  d: `M${n(x)},${n(y)}h${n(width)}v${n(height)}h${n(-width)}Z`,
  fill
})

/**
 * A straight line.
 *
 * @since 0.1.0
 * @category constructors
 */
export const rule = (x1: number, y1: number, x2: number, y2: number, color: string, width: number): Mark => ({
  _tag: "Path",
  d: `M${n(x1)},${n(y1)}L${n(x2)},${n(y2)}`,
  stroke: { color, width }
})

/**
 * @since 0.1.0
 * @category constructors
 */
export const text = (
  s: string,
  x: number,
  y: number,
  o: Partial<Omit<TextMark, "_tag" | "text" | "x" | "y">>
): Mark => ({
  _tag: "Text",
  text: s,
  x,
  y,
  size: 8,
  anchor: "start",
  color: "#333333",
  ...o
})
