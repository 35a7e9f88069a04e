/**
 * Noto Sans KR for pdfkit, parsed once per thread: pdfkit would else parse 9 MB of font for each report.
 *
 * @since 0.1.0
 */
import * as fontkit from "fontkit"
import { createRequire } from "node:module"
import path from "node:path"

/**
 * @since 0.1.0
 * @category models
 */
export type FontName = "regular" | "bold"

const files: Record<FontName, string> = { regular: "NotoSansKR-Regular.otf", bold: "NotoSansKR-Bold.otf" }

let parsed: Record<FontName, fontkit.Font> | undefined

/** The package exports its entry only; the fonts lie beside it. */
const open = (name: FontName): fontkit.Font => {
  const entry = createRequire(import.meta.url).resolve("@embedpdf/fonts-kr")
  const font = fontkit.openSync(path.join(path.dirname(entry), "..", "fonts", files[name]))
  if (!("layout" in font)) throw new Error(`${files[name]} is a collection of fonts, not one`)
  return font
}

/**
 * Makes the fonts known to a document as `regular` and `bold`. Throws when their files cannot be read.
 *
 * @since 0.1.0
 * @category constructors
 */
export const register = (doc: PDFKit.PDFDocument): void => {
  parsed ??= { regular: open("regular"), bold: open("bold") }
  for (const name of ["regular", "bold"] as const) {
    // pdfkit takes a parsed font since 0.20; its types do not say so yet.
    doc.registerFont(name, parsed[name] as unknown as Uint8Array)
  }
}
