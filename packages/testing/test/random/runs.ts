/** Random runs, one for each seed. */
import { Effect, Exit, Cause } from "effect"
import { play } from "./play.js"
import { sceneOf } from "./scene.js"
import { type Broken, explain, verify } from "./verify.js"

export interface Result {
  readonly seed: number
  readonly broken: ReadonlyArray<Broken>
  /** what happened, in text; empty where all holds */
  readonly text: string
  /** the journal's length, and the deliveries and runs in it */
  readonly entries: number
  readonly journal: ReadonlyArray<unknown>
}

export const replay = (seed: number) => `npm run random -- --seed ${seed} --runs 1`

export const runSeed = (seed: number): Effect.Effect<Result> => {
  const scene = sceneOf(seed)
  return Effect.map(Effect.exit(play(scene)), (exit): Result => {
    if (Exit.isFailure(exit)) {
      const text = Cause.pretty(exit.cause)
      const broken = [{ name: "ends", messageId: undefined, text }]
      return { seed, broken, text, entries: 0, journal: [] }
    }
    const broken = verify(exit.value)
    const text = broken.length === 0 ? "" : explain(exit.value, broken)
    return { seed, broken, text, entries: exit.value.entries.length, journal: exit.value.entries }
  })
}

/** A failure as people read it: how to see it again, what is broken, and under which circumstances. */
export const show = ({ seed, text }: Result): string =>
  `\nSeed ${seed} breaks what must always hold. Again:\n\n  ${replay(seed)}\n\n${text}\n\nThe scene: ${JSON.stringify(sceneOf(seed))}\n`
