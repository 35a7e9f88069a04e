import { api } from "../test/http/api.suite.js"
import { streamed } from "../test/http/events.suite.js"
import { fuzz } from "../test/http/fuzz.suite.js"
import { reviews } from "../test/http/reviews.suite.js"
import { postgres } from "./backend.js"

api(postgres)
reviews(postgres)
streamed(postgres)
fuzz(postgres)
