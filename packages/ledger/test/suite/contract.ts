/** The contract: what every store must do. */
import type { Backend } from "../support/backend.js"
import { calls } from "./calls.suite.js"
import { claims } from "./claims.suite.js"
import { interruption } from "./interruption.suite.js"
import { lostReplies } from "./lostReplies.suite.js"
import { model } from "./model.suite.js"
import { operators } from "./operators.suite.js"
import { seams } from "./seams.suite.js"
import { steps } from "./steps.suite.js"
import { transactions } from "./transactions.suite.js"
import { values } from "./values.suite.js"

export const contract = (backend: Backend) => {
  claims(backend)
  calls(backend)
  steps(backend)
  lostReplies(backend)
  interruption(backend)
  transactions(backend)
  operators(backend)
  seams(backend)
  values(backend)
  model(backend)
}
