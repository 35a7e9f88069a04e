/** Tables of text, columns aligned. */

const ANSI = /\u001b\[[0-9;]*m/g

/** Characters on the screen. All that is printed here is one cell a character. */
export const widthOf = (text: string): number => [...text.replace(ANSI, "")].length

export const padEnd = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)))

export const padStart = (text: string, width: number): string => " ".repeat(Math.max(0, width - widthOf(text))) + text

/** Rows of cells; `right` names the columns that are aligned to the right. */
export const table = (
  rows: ReadonlyArray<ReadonlyArray<string>>,
  right: ReadonlyArray<number> = []
): ReadonlyArray<string> => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => widthOf(row[column] ?? ""))))
  return rows.map((row) =>
    row
      .map((cell, column) => (right.includes(column) ? padStart : padEnd)(cell, widths[column]!))
      .join("  ")
      .trimEnd()
  )
}

/** Lines of at most so many characters, broken between words; the lines after the first are indented. */
export const wrap = (text: string, width: number, indent = ""): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = indent + word
    } else line = line === "" ? word : `${line} ${word}`
  }
  return [...lines, line]
}
