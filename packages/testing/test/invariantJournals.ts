/** Journals that are right, to be broken by a test. */
import { Invariants } from "@effect-sqs/testing"
import { Builder, refused, T0 } from "./journalBuilder.js"

export const at = (seconds: number) => T0 + seconds * 1000

/** names of what is broken, each once */
export const broken = (b: Builder, expectations: Invariants.Expectations = {}) => [
  ...new Set(Invariants.check(b.entries, expectations).map((v) => v.invariant))
]

export const received = (visibility = 30) => new Builder().sent("m").receive(["m"], visibility)

export const running = (visibility = 30) => received(visibility).start("m#1")

/** a good life: two beats, a success, a delete that is refused once and tried again */
export const good = () =>
  running()
    .at(15)
    .change("m#1", 30, { takes: 0.1 })
    .at(30)
    .change("m#1", 30, { takes: 0.1 })
    .at(40)
    .end("m#1")
    .delete("m#1", { takes: 0.1, outcome: refused("InternalError") })
    .at(41)
    .delete("m#1", { takes: 0.1 })
    .at(42)

export interface Case {
  readonly name: string
  readonly journal: () => Builder
  readonly expectations?: Invariants.Expectations
}
