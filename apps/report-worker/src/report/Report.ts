/**
 * A report as plain data: what it says, and not how it looks. A report's own module makes one from the data; a painter for
 * each format puts it on paper, into sheets or into a page. It is what the query of a job leaves behind, as JSON.
 *
 * @since 0.1.0
 */
import type { Mark } from "../chart/Mark.js"
import type { Locale } from "../ReportJob.js"

/**
 * A figure on the cover.
 *
 * @since 0.1.0
 * @category models
 */
export interface Tile {
  readonly value: string
  /** printed small after the value; may be empty */
  readonly unit: string
  readonly label: string
}

/**
 * A chart of the cover, drawn on `width` × `height` points.
 *
 * @since 0.1.0
 * @category models
 */
export interface Chart {
  readonly title: string
  /** at the right of the title; may be empty */
  readonly note: string
  /** what is to be seen in it, for those who cannot see it */
  readonly description: string
  readonly width: number
  readonly height: number
  readonly marks: ReadonlyArray<Mark>
}

/**
 * How the cells of a column are written: `whole` with a comma between thousands, `tenth` with one decimal, `percent` a
 * part from 0 to 1 as per cent, `dollars` whole. `coded` cells are a short code and what it stands for.
 *
 * @since 0.1.0
 * @category models
 */
export type CellKind = "text" | "coded" | "whole" | "tenth" | "percent" | "dollars"

/**
 * `null` is what the data do not know.
 *
 * @since 0.1.0
 * @category models
 */
export type Cell = string | number | readonly [code: string, text: string] | null

/**
 * @since 0.1.0
 * @category models
 */
export interface Column {
  readonly head: string
  readonly kind: CellKind
  /** of the parts that all columns share the width of the page in */
  readonly share: number
  /** numbers from here on are to be noticed */
  readonly alertFrom?: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Table {
  readonly title: string
  /** what stands there instead of rows, where there are none */
  readonly none: string
  readonly columns: ReadonlyArray<Column>
  readonly rows: ReadonlyArray<ReadonlyArray<Cell>>
  /** on paper only so many are shown, with `paperNote`: the form with all of them is another */
  readonly paperRows?: number
  readonly paperNote?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  readonly locale: Locale
  readonly title: string
  /** what it is on, in one line */
  readonly subject: string
  readonly period: string
  readonly tiles: ReadonlyArray<Tile>
  /** at most two have room on the cover */
  readonly charts: ReadonlyArray<Chart>
  /** how the figures are to be read */
  readonly note: string
  readonly source: string
  /** the last one is the long one: it is what a CSV holds */
  readonly tables: ReadonlyArray<Table>
}
