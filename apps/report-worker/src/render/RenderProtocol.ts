/**
 * What the worker and its render threads say to each other.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { RenderError } from "../ReportError.js"
import { ReportJob } from "../ReportJob.js"

/**
 * So many pages are drawn; told a few times a second.
 *
 * @since 0.1.0
 * @category models
 */
export class Progress extends Schema.TaggedClass<Progress>()("Progress", {
  pages: Schema.Number,
  of: Schema.Number
}) {}

/**
 * The report stands in its file, on disk.
 *
 * @since 0.1.0
 * @category models
 */
export class Rendered extends Schema.TaggedClass<Rendered>()("Rendered", {
  pages: Schema.Number,
  bytes: Schema.Number,
  sha256: Schema.String
}) {}

/**
 * Draw this job's report into a new file at `path`. Answered by `Progress`es and, at the end, one `Rendered`.
 *
 * @since 0.1.0
 * @category models
 */
export class RenderReport extends Schema.TaggedRequest<RenderReport>()("RenderReport", {
  payload: { job: ReportJob, path: Schema.String },
  success: Schema.Union(Progress, Rendered),
  failure: RenderError
}) {}
