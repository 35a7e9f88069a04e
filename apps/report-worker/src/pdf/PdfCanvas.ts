/**
 * The few things a report draws on a page: a text on its baseline, a text cut to a width, and a chart's marks.
 *
 * @since 0.1.0
 */
import type { Mark } from "../chart/Mark.js"
import type { FontName } from "./PdfFonts.js"

/**
 * `x` is where the end named by `anchor` stands; `width` cuts what is longer, with an ellipsis.
 *
 * @since 0.1.0
 * @category models
 */
export interface TextStyle {
  readonly size: number
  readonly color: string
  readonly font?: FontName
  readonly anchor?: "start" | "middle" | "end"
  readonly width?: number
}

const shifts = { start: 0, middle: 0.5, end: 1 } as const

const cut = (doc: PDFKit.PDFDocument, text: string, width: number): string => {
  if (doc.widthOfString(text) <= width) return text
  let end = text.length - 1
  while (end > 0 && doc.widthOfString(text.slice(0, end).trimEnd() + "…") > width) end--
  return text.slice(0, end).trimEnd() + "…"
}

/**
 * Writes one line, `y` being its baseline.
 *
 * @since 0.1.0
 * @category drawing
 */
export const write = (doc: PDFKit.PDFDocument, text: string, x: number, y: number, style: TextStyle): void => {
  doc
    .font(style.font ?? "regular")
    .fontSize(style.size)
    .fillColor(style.color)
  const shown = style.width === undefined ? text : cut(doc, text, style.width)
  const shift = shifts[style.anchor ?? "start"]
  const left = shift === 0 ? x : x - shift * doc.widthOfString(shown)
  doc.text(shown, left, y, { lineBreak: false, baseline: "alphabetic" })
}

/**
 * @since 0.1.0
 * @category drawing
 */
export const paint = (doc: PDFKit.PDFDocument, marks: ReadonlyArray<Mark>, x: number, y: number): void => {
  doc.save().translate(x, y)
  for (const m of marks) {
    if (m._tag === "Text") {
      write(doc, m.text, m.x, m.y, { ...m, font: m.bold === true ? "bold" : "regular" })
      continue
    }
    doc.path(m.d)
    if (m.fill !== undefined) doc.fill(m.fill)
    else if (m.stroke !== undefined) doc.lineWidth(m.stroke.width).lineJoin("round").stroke(m.stroke.color)
  }
  doc.restore()
}
