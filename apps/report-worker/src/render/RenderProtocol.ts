/**
 * What the worker and its render threads say to each other.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RenderError } from "../ReportError.js"
import { ReportJob } from "../ReportJob.js"

/**
 * So many pages are drawn, told a few times a second; in forms without pages a hundred rows count as one.
 *
 * @since 0.1.0
 * @category models
 */
export class Progress extends Schema.TaggedClass<Progress>()("Progress", {
  pages: Schema.Number,
  of: Schema.Number
}) {}

/**
 * What the report says stands in the extract file, on disk. `rows` are those of its longest table.
 *
 * @since 0.1.0
 * @category models
 */
export class Extract extends Schema.TaggedClass<Extract>()("Extract", {
  rows: Schema.Number,
  bytes: Schema.Number,
  sha256: Schema.String
}) {}

/**
 * The report stands in its file, on disk. `pages` only of paged forms.
 *
 * @since 0.1.0
 * @category models
 */
export class Rendered extends Schema.TaggedClass<Rendered>()("Rendered", {
  pages: Schema.optional(Schema.Number),
  bytes: Schema.Number,
  sha256: Schema.String
}) {}

/**
 * Work out what this job's report says, into a new file.
 *
 * @since 0.1.0
 * @category models
 */
export class QueryReport extends Schema.TaggedRequest<QueryReport>()("QueryReport", {
  payload: { job: ReportJob, extractFile: Schema.String },
  success: Extract,
  failure: RenderError
}) {}

/**
 * Draw the figures in `extract` into a new file at `path`. Answered by `Progress`es and, at the end, one `Rendered`.
 *
 * @since 0.1.0
 * @category models
 */
export class RenderReport extends Schema.TaggedRequest<RenderReport>()("RenderReport", {
  payload: { job: ReportJob, extract: Schema.String, path: Schema.String },
  success: Schema.Union(Progress, Rendered),
  failure: RenderError
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export const RenderRequest = Schema.Union(QueryReport, RenderReport)

/**
 * @since 0.1.0
 * @category models
 */
export type RenderRequest = typeof RenderRequest.Type
