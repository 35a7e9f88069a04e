import { sqlite } from "./backend.js"
import { random } from "./random.suite.js"
import { suite } from "./suite.js"

suite(sqlite)
random(sqlite)
