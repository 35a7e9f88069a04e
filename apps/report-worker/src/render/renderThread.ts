/** The program of a render thread: it draws what it is asked for until it is told to stop. */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as WorkerRunner from "@effect/platform/WorkerRunner"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { RenderError } from "../ReportError.js"
import { query, render } from "./Render.js"
import { type Progress, type Rendered, type RenderReport, RenderRequest } from "./RenderProtocol.js"

const answer = ({ extract, job, path }: RenderReport) =>
  Stream.asyncPush<Progress | Rendered, RenderError, FileSystem.FileSystem>((emit) =>
    render(job, extract, path, (progress) => Effect.sync(() => emit.single(progress))).pipe(
      Effect.matchCause({
        onFailure: (cause) => emit.halt(cause),
        onSuccess: (rendered) => {
          emit.single(rendered)
          emit.end()
        }
      }),
      Effect.forkScoped
    )
  )

const Live = WorkerRunner.layerSerialized(RenderRequest, {
  QueryReport: ({ extractFile, job }) => query(job, extractFile),
  RenderReport: answer
}).pipe(Layer.provide([NodeWorkerRunner.layer, NodeFileSystem.layer]))

NodeRuntime.runMain(WorkerRunner.launch(Live))
