/**
 * The query of a job: what its report says.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FlightData from "../data/FlightData.js"
import * as FlightDelays from "../data/FlightDelays.js"
import type { RenderError } from "../ReportError.js"
import type { ReportJob } from "../ReportJob.js"
import { flightDelaysReport } from "./FlightDelaysReport.js"
import type { Report } from "./Report.js"
import { routeTrafficReport } from "./RouteTrafficReport.js"
import { wildlifeStrikesReport } from "./WildlifeStrikesReport.js"

/**
 * @since 0.1.0
 * @category constructors
 */
export const describe = (job: ReportJob): Effect.Effect<Report, RenderError> => {
  switch (job.report) {
    case "flight-delays":
      return Effect.map(
        Effect.flatMap(FlightData.load, (data) => FlightDelays.make(job, data)),
        (figures) => flightDelaysReport(figures, job.locale)
      )
    case "wildlife-strikes":
      return wildlifeStrikesReport(job)
    case "route-traffic":
      return routeTrafficReport(job)
  }
}
