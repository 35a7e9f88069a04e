import { memory } from "./support/backend.js"
import { contract } from "./suite/contract.js"

contract(memory)
