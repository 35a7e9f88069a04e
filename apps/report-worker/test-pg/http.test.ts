import { api } from "../test/http/api.suite.js"
import { streamed } from "../test/http/events.suite.js"
import { fuzz } from "../test/http/fuzz.suite.js"
import { hostile } from "../test/http/hostile.suite.js"
import { reviews } from "../test/http/reviews.suite.js"
import { postgres } from "./backend.js"

api(postgres)
reviews(postgres)
hostile(postgres)
streamed(postgres)
fuzz(postgres)
