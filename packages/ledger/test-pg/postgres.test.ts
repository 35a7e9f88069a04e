import { contract } from "../test/suite/contract.js"
import { postgres } from "./support/postgres.js"

contract(postgres)
