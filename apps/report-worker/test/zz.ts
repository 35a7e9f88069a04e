import { settings, describe } from "../src/Settings.js"
import { Effect, Either } from "effect"
console.log(describe)
const r = await Effect.runPromise(Effect.either(settings))
console.log(Either.isLeft(r) ? r.left.message : r.right)
