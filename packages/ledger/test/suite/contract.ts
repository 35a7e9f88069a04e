/** The contract: what every store must do. */
import type { Backend } from "../support/backend.js"
import { claims } from "./claims.suite.js"

export const contract = (backend: Backend) => {
  claims(backend)
}
