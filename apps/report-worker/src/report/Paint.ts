/**
 * A report in the format that is asked for.
 *
 * @since 0.1.0
 */
import { csvReport } from "../csv/CsvReport.js"
import { htmlReport } from "../html/HtmlReport.js"
import { pdfReport } from "../pdf/PdfReport.js"
import type { Format } from "../ReportJob.js"
import { xlsxReport } from "../xlsx/XlsxReport.js"
import type { Report } from "./Report.js"
import type { Steps } from "./Step.js"

const painters: Record<Format, (report: Report) => Steps> = {
  pdf: pdfReport,
  xlsx: xlsxReport,
  csv: csvReport,
  html: htmlReport
}

/**
 * @since 0.1.0
 * @category rendering
 */
export const paint = (report: Report, format: Format): Steps => painters[format](report)
