/** The program of a render thread: it draws what it is asked for until it is told to stop. */
import type * as FileSystem from "@effect/platform/FileSystem"
import * as WorkerRunner from "@effect/platform/WorkerRunner"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeWorkerRunner from "@effect/platform-node/NodeWorkerRunner"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { RenderError } from "../ReportError.js"
import { render } from "./Render.js"
import { type Progress, type Rendered, RenderReport } from "./RenderProtocol.js"

const answer = ({ job, path }: RenderReport) =>
  Stream.asyncPush<Progress | Rendered, RenderError, FileSystem.FileSystem>((emit) =>
    render(job, path, (progress) => Effect.sync(() => emit.single(progress))).pipe(
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

const Live = WorkerRunner.layerSerialized(Schema.Union(RenderReport), { RenderReport: answer }).pipe(
  Layer.provide([NodeWorkerRunner.layer, NodeFileSystem.layer])
)

NodeRuntime.runMain(WorkerRunner.launch(Live))
