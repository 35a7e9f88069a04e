/**
 * The port to the library that writes workbooks, so that it can be another one.
 *
 * @since 0.1.0
 */
import { writeXlsx } from "hucre/xlsx"

/**
 * `format` is a number format of spreadsheets; `width` counts characters.
 *
 * @since 0.1.0
 * @category models
 */
export interface SheetColumn {
  readonly head: string
  readonly width: number
  readonly format?: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Sheet {
  readonly name: string
  readonly columns: ReadonlyArray<SheetColumn>
  readonly rows: ReadonlyArray<ReadonlyArray<string | number | null>>
}

/**
 * The bytes of a workbook; the same sheets give the same bytes.
 *
 * @since 0.1.0
 * @category constructors
 */
export const writeWorkbook = (o: {
  readonly title: string
  readonly created: Date
  readonly sheets: ReadonlyArray<Sheet>
}): Promise<Uint8Array> =>
  writeXlsx({
    properties: { title: o.title, creator: "report-worker", created: o.created, modified: o.created },
    sheets: o.sheets.map(({ columns, name, rows }) => ({
      name,
      columns: columns.map(({ format, width }) => ({ width, ...(format === undefined ? {} : { numFmt: format }) })),
      // the heads of columns are written for rows of objects only
      rows: [columns.map((c) => c.head), ...rows.map((row) => [...row])],
      freezePane: { rows: 1 }
    }))
  })
