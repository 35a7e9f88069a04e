import { sqlite } from "./backend.js"
import { suite } from "./suite.js"

suite(sqlite)
