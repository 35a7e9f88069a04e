import { random } from "../test/jobs/random.suite.js"
import { suite } from "../test/jobs/suite.js"
import { postgres } from "./backend.js"

suite(postgres)
random(postgres)
