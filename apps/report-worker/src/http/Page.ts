/**
 * The page's files. A worker that was built has them beside itself; one that runs from source builds them when it starts.
 *
 * @since 0.1.0
 */
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { readFile } from "node:fs/promises"
import path from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

/**
 * @since 0.1.0
 * @category models
 */
export interface Asset {
  /** under which it is asked for */
  readonly path: string
  readonly contentType: string
  readonly bytes: Uint8Array
  /** another content has another name */
  readonly isFixed: boolean
}

/**
 * The page cannot be served.
 *
 * @since 0.1.0
 * @category errors
 */
export class PageUnavailable extends Schema.TaggedError<PageUnavailable>()("PageUnavailable", {
  detail: Schema.String
}) {
  override get message() {
    return `The operations page cannot be served: ${this.detail}`
  }
}

const here = import.meta.url

const built = async (): Promise<ReadonlyArray<Asset>> => {
  const folder = fileURLToPath(new URL("../web/", here))
  const list = JSON.parse(await readFile(path.join(folder, "list.json"), "utf8")) as ReadonlyArray<
    Omit<Asset, "bytes"> & { readonly file: string }
  >
  return Promise.all(
    list.map(async ({ file, ...asset }) => ({ ...asset, bytes: await readFile(path.join(folder, file)) }))
  )
}

const fromSource = async (): Promise<ReadonlyArray<Asset>> => {
  // not a part of this program's types: it is no part of a built worker
  const { build } = (await import(new URL("../../web/build.mjs", here).href)) as {
    readonly build: () => Promise<ReadonlyArray<Asset>>
  }
  return build()
}

/**
 * @since 0.1.0
 * @category loading
 */
export const load: Effect.Effect<ReadonlyArray<Asset>, PageUnavailable> = Effect.tryPromise({
  try: here.endsWith(".ts") ? fromSource : built,
  catch: (e) =>
    new PageUnavailable({
      detail: `it is not there, or cannot be built (${e instanceof Error ? e.message : String(e)}): run npm run build`
    })
})

/**
 * The answer with a file, compressed once and for all.
 *
 * @since 0.1.0
 * @category responses
 */
export const respond = ({ bytes, contentType, isFixed }: Asset) => {
  const small = gzipSync(bytes, { level: 9 })
  const headers = {
    "cache-control": isFixed ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding"
  }
  const plain = HttpServerResponse.uint8Array(bytes, { contentType, headers })
  const compressed = HttpServerResponse.uint8Array(small, {
    contentType,
    headers: { ...headers, "content-encoding": "gzip" }
  })
  return Effect.map(HttpServerRequest.HttpServerRequest, (request) =>
    /\bgzip\b/.test(request.headers["accept-encoding"] ?? "") ? compressed : plain
  )
}
