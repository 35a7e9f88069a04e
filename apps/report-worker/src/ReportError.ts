/**
 * What can go wrong with a report, told apart by what helps. The worker's redelivery policy speaks of these tags.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * No flight of the data starts or ends at this airport. Trying again does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownAirport extends Schema.TaggedError<UnknownAirport>()("UnknownAirport", {
  airport: Schema.String
}) {
  override get message() {
    return `no airport ${this.airport} in the flight data: check the code`
  }
}

/**
 * The airport is known, but has no flight in the period. Trying again does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoFlights extends Schema.TaggedError<NoFlights>()("NoFlights", {
  airport: Schema.String,
  period: Schema.String
}) {
  override get message() {
    return `no flight from or to ${this.airport} in ${this.period}: ask for a longer period`
  }
}

/**
 * The flight data could not be read. It may be back later.
 *
 * @since 0.1.0
 * @category errors
 */
export class SourceUnavailable extends Schema.TaggedError<SourceUnavailable>()("SourceUnavailable", {
  source: Schema.String,
  detail: Schema.String
}) {
  override get message() {
    return `${this.source} cannot be read now: ${this.detail}`
  }
}

/**
 * The artifact could not be written, kept or read: disk full, no permission, folder or bucket gone. Its text says what
 * somebody has to do, where that is known.
 *
 * @since 0.1.0
 * @category errors
 */
export class StoreFailed extends Schema.TaggedError<StoreFailed>()("StoreFailed", {
  path: Schema.String,
  detail: Schema.String,
  doing: Schema.optionalWith(Schema.Literal("written", "read"), { exact: true, default: () => "written" })
}) {
  override get message() {
    return `${this.path} cannot be ${this.doing}: ${this.detail}`
  }
}

/**
 * The thread that drew the report is gone: out of memory, crashed or killed. Another thread takes its place.
 *
 * @since 0.1.0
 * @category errors
 */
export class RenderThreadLost extends Schema.TaggedError<RenderThreadLost>()("RenderThreadLost", {
  detail: Schema.String
}) {
  override get message() {
    return `the render thread is gone: ${this.detail}`
  }
}

/**
 * There is no such state. Trying again does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class UnknownState extends Schema.TaggedError<UnknownState>()("UnknownState", {
  state: Schema.String
}) {
  override get message() {
    return `no state has the code ${this.state}: check the code`
  }
}

/**
 * The state is known, but no wildlife strike in it in these years. Trying again does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoStrikes extends Schema.TaggedError<NoStrikes>()("NoStrikes", {
  state: Schema.String,
  from: Schema.Number,
  to: Schema.Number
}) {
  override get message() {
    return `no wildlife strike in ${this.state} from ${this.from} to ${this.to}: ask for more years, or for all states`
  }
}

/**
 * No flight of the data starts or ends there. Trying again does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoRoutes extends Schema.TaggedError<NoRoutes>()("NoRoutes", {
  place: Schema.String
}) {
  override get message() {
    return `no route from or to ${this.place} in the data: check the code`
  }
}

/**
 * Every failure that drawing a report can have.
 *
 * @since 0.1.0
 * @category errors
 */
export const RenderError = Schema.Union(
  UnknownAirport,
  NoFlights,
  UnknownState,
  NoStrikes,
  NoRoutes,
  SourceUnavailable,
  StoreFailed
)

/**
 * @since 0.1.0
 * @category errors
 */
export type RenderError = typeof RenderError.Type

/**
 * No such artifact is kept. It may not be finished yet.
 *
 * @since 0.1.0
 * @category errors
 */
export class ArtifactNotFound extends Schema.TaggedError<ArtifactNotFound>()("ArtifactNotFound", {
  artifact: Schema.String
}) {
  override get message() {
    return `there is no artifact ${this.artifact}`
  }
}

/**
 * A step of a job took longer than its policy allows. It may be faster another time.
 *
 * @since 0.1.0
 * @category errors
 */
export class StepTimedOut extends Schema.TaggedError<StepTimedOut>()("StepTimedOut", {
  step: Schema.String,
  seconds: Schema.Number
}) {
  override get message() {
    return `the step ${this.step} did not end within ${this.seconds} s`
  }
}
