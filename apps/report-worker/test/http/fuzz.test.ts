import { sqlite } from "../jobs/backend.js"
import { fuzz } from "./fuzz.suite.js"

fuzz(sqlite)
