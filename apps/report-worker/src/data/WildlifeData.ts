/**
 * The reports of wildlife strikes, read once per thread. `data/DATA.md` tells what they are and where they come from.
 *
 * @since 0.1.0
 */
import { linesOf, once } from "./DataFile.js"

/**
 * One strike. `date` is `YYYY-MM-DD`, `state` a name, `cost` in US dollars of that time.
 *
 * @since 0.1.0
 * @category models
 */
export interface Strike {
  readonly date: string
  readonly airport: string
  readonly state: string
  readonly aircraft: string
  readonly damage: string
  readonly phase: string
  readonly species: string
  readonly cost: number
}

/**
 * In the order of their days.
 *
 * @since 0.1.0
 * @category constructors
 */
export const load = once("the wildlife data", (): ReadonlyArray<Strike> =>
  linesOf("strikes.csv.gz").map((line) => {
    const [date = "", airport = "", state = "", aircraft = "", damage = "", phase = "", species = "", cost] =
      line.split(",")
    return { date, airport, state, aircraft, damage, phase, species, cost: Number(cost) }
  })
)
