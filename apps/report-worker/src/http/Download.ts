/**
 * A finished report as a download. Only what a job's row names is looked for, by the store's own rules for names.
 *
 * @since 0.1.0
 */
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import path from "node:path"
import type { JobRow } from "../jobs/JobRow.js"
import { ArtifactStore, isArtifactName } from "../store/ArtifactStore.js"
import { NotFound, Unavailable } from "./Api.js"

const types: Readonly<Record<string, string>> = {
  ".pdf": "application/pdf",
  ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  ".csv": "text/csv; charset=utf-8",
  ".html": "text/html; charset=utf-8"
}

/** a report is no page of ours: it runs nothing and loads nothing */
const sandbox = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:"

/**
 * The bytes. `inline`: PDF and HTML are shown, the others are kept all the same.
 *
 * @since 0.1.0
 * @category responses
 */
export const download = (row: JobRow, inline: boolean) =>
  Effect.gen(function* () {
    const store = yield* ArtifactStore
    const name = row.result?.artifact
    if (name === undefined || !isArtifactName(name)) {
      return yield* Effect.fail(NotFound.make({ message: `job ${row.id} has no report: it is ${row.state}` }))
    }
    const artifact = yield* Effect.mapError(store.find(name), (e) => Unavailable.make({ message: e.message }))
    if (Option.isNone(artifact)) {
      return yield* Effect.fail(NotFound.make({ message: `the report of job ${row.id} is not in the store any more` }))
    }
    const extension = path.extname(name)
    const isShown = inline && (extension === ".pdf" || extension === ".html")
    return HttpServerResponse.stream(store.read(name), {
      contentType: types[extension] ?? "application/octet-stream",
      contentLength: artifact.value.bytes,
      headers: {
        "content-disposition": `${isShown ? "inline" : "attachment"}; filename="${path.basename(name)}"`,
        "cache-control": "private, no-store",
        ...(extension === ".html" ? { "content-security-policy": sandbox } : {})
      }
    })
  })
