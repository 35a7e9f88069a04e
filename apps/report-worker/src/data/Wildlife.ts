/**
 * The figures of the wildlife-strikes report, worked out from the data; nothing here knows how they are shown.
 *
 * @since 0.1.0
 */
import { group } from "d3-array"
import * as Effect from "effect/Effect"
import { NoStrikes, UnknownState } from "../ReportError.js"
import type { WildlifeStrikesJob } from "../ReportJob.js"
import { stateNames } from "./States.js"
import type { Strike } from "./WildlifeData.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface StrikeFigures {
  readonly strikes: number
  /** part that did damage, 0 to 1 */
  readonly damagedShare: number
  /** in US dollars */
  readonly cost: number
  readonly highestCost: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Named extends StrikeFigures {
  readonly name: string
}

/**
 * Everything that the report shows.
 *
 * @since 0.1.0
 * @category models
 */
export interface Wildlife {
  /** `undefined`: all states */
  readonly state: string | undefined
  readonly from: number
  readonly to: number
  readonly figures: StrikeFigures
  readonly years: ReadonlyArray<{ readonly year: number; readonly value: number }>
  /** most strikes first */
  readonly phases: ReadonlyArray<Named>
  readonly species: ReadonlyArray<Named>
  readonly minCost: number
  /** those that cost at least `minCost`, in the order of their days */
  readonly listed: ReadonlyArray<Strike>
}

const figuresOf = (strikes: ReadonlyArray<Strike>): StrikeFigures => {
  const damaged = strikes.filter((s) => s.damage !== "None").length
  return {
    strikes: strikes.length,
    damagedShare: damaged / strikes.length,
    cost: strikes.reduce((sum, s) => sum + s.cost, 0),
    highestCost: strikes.reduce((most, s) => Math.max(most, s.cost), 0)
  }
}

const by = (strikes: ReadonlyArray<Strike>, key: (s: Strike) => string): ReadonlyArray<Named> =>
  Array.from(group(strikes, key), ([name, members]) => ({ name, ...figuresOf(members) })).sort(
    (a, b) => b.strikes - a.strikes || (a.name < b.name ? -1 : 1)
  )

const yearOf = (s: Strike) => Number(s.date.slice(0, 4))

/**
 * Works the report out. Fails when there is no such state, or no strike in it in these years.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  job: WildlifeStrikesJob,
  all: ReadonlyArray<Strike>
): Effect.Effect<Wildlife, UnknownState | NoStrikes> => {
  const { from, minCost, state: code, to } = job
  const state = code === undefined ? undefined : stateNames.get(code)
  if (code !== undefined && state === undefined) return Effect.fail(new UnknownState({ state: code }))
  const strikes = all.filter((s) => {
    const year = yearOf(s)
    return year >= from && year <= to && (state === undefined || s.state === state)
  })
  if (strikes.length === 0) return Effect.fail(new NoStrikes({ state: state ?? "any state", from, to }))
  const perYear = group(strikes, yearOf)
  return Effect.succeed({
    state,
    from,
    to,
    figures: figuresOf(strikes),
    years: Array.from({ length: to - from + 1 }, (_, i) => ({
      year: from + i,
      value: perYear.get(from + i)?.length ?? 0
    })),
    phases: by(strikes, (s) => s.phase),
    species: by(strikes, (s) => s.species),
    minCost,
    listed: strikes.filter((s) => s.cost >= minCost)
  })
}
