/** Tables that fit a terminal. */

/** Characters on the screen. All that is shown in a table is one cell a character. */
export const widthOf = (text: string): number => [...text].length

const clip = (text: string, width: number): string =>
  widthOf(text) <= width ? text : `${[...text].slice(0, width - 1).join("")}…`

const gap = 2
const narrowest = 6

/** Rows of cells, the first one the heads. What does not fit into `columns` is cut, the widest column first. */
export const table = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  columns: number,
  paint: (cell: string, row: number, column: number) => string = (cell) => cell
): ReadonlyArray<string> => {
  const widths = rows[0]!.map((_, c) => Math.max(...rows.map((row) => widthOf(row[c]!))))
  const total = () => widths.reduce((sum, width) => sum + width + gap, -gap)
  while (total() > columns) {
    const widest = widths.indexOf(Math.max(...widths))
    if (widths[widest]! <= narrowest) break
    widths[widest]!--
  }
  return rows.map((row, r) =>
    row
      .map((text, c) => {
        const cell = clip(text, widths[c]!)
        const isLast = c === row.length - 1
        return paint(cell, r, c) + (isLast ? "" : " ".repeat(widths[c]! - widthOf(cell) + gap))
      })
      .join("")
      .trimEnd()
  )
}
