/**
 * Tables for programs: a coded cell is two, the code and what it stands for.
 *
 * @since 0.1.0
 */
import type { Locale } from "../ReportJob.js"
import type { Cell, Column } from "./Report.js"

const nameOf = (head: string, locale: Locale) => (locale === "ko" ? `${head} 이름` : `${head}, name`)

/**
 * @since 0.1.0
 * @category formatting
 */
export const flatHeads = (columns: ReadonlyArray<Column>, locale: Locale): ReadonlyArray<string> =>
  columns.flatMap((c) => (c.kind === "coded" ? [c.head, nameOf(c.head, locale)] : [c.head]))

/**
 * @since 0.1.0
 * @category formatting
 */
export const flatRow = (
  row: ReadonlyArray<Cell>,
  columns: ReadonlyArray<Column>
): ReadonlyArray<string | number | null> =>
  columns.flatMap((c, i) => {
    const cell = row[i] ?? null
    if (c.kind !== "coded") return [typeof cell === "object" && cell !== null ? cell[1] : cell]
    return typeof cell === "object" && cell !== null ? [...cell] : [cell, null]
  })
