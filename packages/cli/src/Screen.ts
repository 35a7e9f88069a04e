/**
 * What the output goes to: how wide it is, and whether it shows colours. Everything that is drawn takes it as a value.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

/**
 * @since 0.1.0
 * @category models
 */
export type Colour = "bold" | "dim" | "red" | "green" | "yellow" | "blue" | "magenta" | "cyan"

/**
 * The service.
 *
 * @since 0.1.0
 * @category services
 */
export class Screen extends Context.Tag("@effect-sqs/cli/Screen")<
  Screen,
  {
    /** characters a line */
    readonly columns: number
    /** `true`: a person looks at it, so that lines may be drawn anew */
    readonly isTerminal: boolean
    /** a text in a colour; the text alone where there are none */
    readonly paint: (colour: Colour, text: string) => string
  }
>() {}

const codes: Record<Colour, readonly [number, number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39]
}

const MIN_COLUMNS = 60
const MAX_COLUMNS = 120

/**
 * A screen of so many columns; without colours and not a terminal unless said.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly columns?: number | undefined
  readonly isTerminal?: boolean | undefined
  readonly hasColours?: boolean | undefined
}): Screen["Type"] => ({
  columns: Math.min(MAX_COLUMNS, Math.max(MIN_COLUMNS, options.columns ?? 100)),
  isTerminal: options.isTerminal ?? false,
  paint: (colour, text) => {
    if (options.hasColours !== true || text === "") return text
    const [on, off] = codes[colour]
    return `\u001b[${on}m${text}\u001b[${off}m`
  }
})

/** https://no-color.org: set, and not empty */
const isSet = (value: string | undefined) => value !== undefined && value !== ""

/**
 * Whether stdout shows colours: it is a terminal, and neither `NO_COLOR` nor `TERM=dumb` say otherwise. `FORCE_COLOR` forces
 * them.
 *
 * @since 0.1.0
 * @category getters
 */
export const hasColours = (): boolean => {
  const { FORCE_COLOR, NO_COLOR, TERM } = process.env
  if (isSet(NO_COLOR)) return false
  if (isSet(FORCE_COLOR) && FORCE_COLOR !== "0") return true
  return process.stdout.isTTY === true && TERM !== "dumb"
}

/**
 * The stdout of this process.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Screen> = Layer.effect(
  Screen,
  Effect.sync(() =>
    make({
      columns: process.stdout.columns,
      isTerminal: process.stdout.isTTY === true,
      hasColours: hasColours()
    })
  )
)
