/**
 * All that the worker stands on, from its settings: database, store, render threads, webhooks. What is not configured is
 * embedded: a file and a folder.
 *
 * @since 0.1.0
 */
import type * as Ledger from "@effect-sqs/ledger/Ledger"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Layer from "effect/Layer"
import path from "node:path"
import * as Database from "./jobs/Database.js"
import type { JobStore } from "./jobs/JobStore.js"
import type { PipelineServices } from "./Pipeline.js"
import { RenderPool } from "./render/RenderPool.js"
import type { RenderThreadLost, StoreFailed } from "./ReportError.js"
import type { Settings } from "./Settings.js"
import type { ArtifactStore } from "./store/ArtifactStore.js"
import * as FolderStore from "./store/FolderStore.js"
import * as S3Store from "./store/S3Store.js"
import { Webhook } from "./webhook/Webhook.js"

/**
 * The jobs and the ledger, for programs that only submit, look or cancel.
 *
 * @since 0.1.0
 * @category layers
 */
export const jobs = (
  settings: Pick<Settings, "database" | "claim">
): Layer.Layer<JobStore | Ledger.Ledger | SqlClient.SqlClient, Database.DatabaseUnavailable> =>
  Database.layer(settings.database, { claim: settings.claim })

/**
 * The store of finished reports.
 *
 * @since 0.1.0
 * @category layers
 */
export const store = (
  settings: Pick<Settings, "store" | "out">
): Layer.Layer<ArtifactStore, StoreFailed, FileSystem.FileSystem> =>
  settings.store._tag === "Folder"
    ? FolderStore.layer(settings.store.path)
    : S3Store.layer({
        bucket: settings.store.bucket,
        prefix: settings.store.prefix,
        workFolder: path.join(settings.out, "work")
      })

/**
 * Everything for a worker but SQS.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  settings: Pick<Settings, "database" | "claim" | "store" | "out" | "threads" | "webhookTimeout" | "webhookPrivate">
): Layer.Layer<PipelineServices | SqlClient.SqlClient, Database.DatabaseUnavailable | StoreFailed | RenderThreadLost> =>
  Layer.mergeAll(
    jobs(settings),
    store(settings),
    RenderPool.layer(settings.threads),
    Webhook.layer({ timeout: settings.webhookTimeout, allowPrivate: settings.webhookPrivate })
  ).pipe(Layer.provideMerge(NodeFileSystem.layer))
