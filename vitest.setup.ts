import { addEqualityTesters } from "@effect/vitest"
import fc from "fast-check"

addEqualityTesters()

/** Random tests are the same on every machine; FC_SEED=N draws others. */
fc.configureGlobal({ seed: Number(process.env.FC_SEED ?? 20261130) })
