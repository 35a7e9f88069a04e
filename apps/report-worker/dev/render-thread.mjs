// Development only: starts a render thread from its TypeScript source. Node 20 does not hand tsx's loader on to threads.
import { workerData } from "node:worker_threads"
import { register } from "tsx/esm/api"

register()
await import(workerData)
