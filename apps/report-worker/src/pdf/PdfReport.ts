/**
 * A report as a stream of PDF bytes, page by page.
 *
 * @since 0.1.0
 */
import PDFDocument from "pdfkit"
import { dataAsOf } from "../data/FlightData.js"
import type { Report } from "../report/Report.js"
import type { Step } from "../report/Step.js"
import { register } from "./PdfFonts.js"
import { drawPages, pageCount } from "./PdfPages.js"

const emptyDocument = (title: string, language: string): PDFKit.PDFDocument => {
  const doc = new PDFDocument({
    size: "A4",
    // A text below the bottom margin would begin a page of its own: the reports place everything themselves.
    margins: { top: 0, bottom: 0, left: 0, right: 0 },
    autoFirstPage: false,
    pdfVersion: "1.7",
    lang: language,
    displayTitle: true,
    // A PDF has a date, and today's would change the bytes: it is that of the data.
    info: { Title: title, Creator: "report-worker", Producer: "report-worker", CreationDate: dataAsOf },
    // pdfkit would open Helvetica; its types do not know null.
    font: null as unknown as string
  })
  register(doc)
  return doc
}

const taken = (doc: PDFKit.PDFDocument): ReadonlyArray<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for (let chunk = doc.read() as Buffer | null; chunk !== null; chunk = doc.read() as Buffer | null) chunks.push(chunk)
  return chunks
}

/**
 * The same report gives the same bytes. The last step, after the last page, writes fonts and index.
 *
 * @since 0.1.0
 * @category constructors
 */
export const pdfReport = function* (report: Report): Generator<Step> {
  const of = pageCount(report)
  const doc = emptyDocument([report.title, report.subject, report.period].join(" · "), report.locale)
  let pages = 0
  for (const _ of drawPages(doc, report)) yield { bytes: taken(doc), pages: ++pages, of }
  doc.end()
  yield { bytes: taken(doc), pages, of }
}
