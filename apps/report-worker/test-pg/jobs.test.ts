import { suite } from "../test/jobs/suite.js"
import { postgres } from "./backend.js"

suite(postgres)
