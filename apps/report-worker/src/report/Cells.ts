/**
 * The cells of a report as text: the same in every form that people read.
 *
 * @since 0.1.0
 */
import { percent, tenth, whole } from "../ReportText.js"
import type { Cell, CellKind, Column } from "./Report.js"

const numbers: Record<Exclude<CellKind, "text" | "coded">, (n: number) => string> = {
  whole,
  tenth,
  percent,
  dollars: (n) => `$${whole(n)}`
}

/**
 * Whether the cells of a kind are numbers, which stand at the right of their column.
 *
 * @since 0.1.0
 * @category queries
 */
export const isNumeric = (kind: CellKind): kind is keyof typeof numbers => kind in numbers

/**
 * The code of a coded cell, else nothing.
 *
 * @since 0.1.0
 * @category formatting
 */
export const codeOf = (cell: Cell): string => (cell !== null && typeof cell === "object" ? cell[0] : "")

/**
 * The cell in words; of a coded cell what the code stands for. What is not known is a dash.
 *
 * @since 0.1.0
 * @category formatting
 */
export const shown = (cell: Cell, kind: CellKind): string => {
  if (cell === null) return "–"
  if (typeof cell === "object") return cell[1]
  return typeof cell === "number" && isNumeric(kind) ? numbers[kind](cell) : String(cell)
}

/**
 * Whether the cell is to be noticed.
 *
 * @since 0.1.0
 * @category queries
 */
export const isAlert = (cell: Cell, column: Column): boolean =>
  column.alertFrom !== undefined && typeof cell === "number" && cell >= column.alertFrom
