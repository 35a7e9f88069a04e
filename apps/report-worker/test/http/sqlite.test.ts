import { sqlite } from "../jobs/backend.js"
import { api } from "./api.suite.js"
import { streamed } from "./events.suite.js"
import { hostile } from "./hostile.suite.js"
import { reviews } from "./reviews.suite.js"

api(sqlite)
reviews(sqlite)
hostile(sqlite)
streamed(sqlite)
