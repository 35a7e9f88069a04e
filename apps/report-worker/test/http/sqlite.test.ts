import { sqlite } from "../jobs/backend.js"
import { api } from "./api.suite.js"
import { streamed } from "./events.suite.js"
import { reviews } from "./reviews.suite.js"

api(sqlite)
reviews(sqlite)
streamed(sqlite)
