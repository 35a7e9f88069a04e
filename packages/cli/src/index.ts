/**
 * @since 0.1.0
 */
export * as CliError from "./CliError.js"
export * as Connection from "./Connection.js"
export * as Doctor from "./Doctor.js"
export * as DoctorPicture from "./DoctorPicture.js"
export * as Finding from "./Finding.js"
export * as Flags from "./Flags.js"
export * as Main from "./Main.js"
export * as Plan from "./Plan.js"
export * as PlanPicture from "./PlanPicture.js"
export * as PlanSvg from "./PlanSvg.js"
export * as RunTimes from "./RunTimes.js"
export * as Screen from "./Screen.js"
export * as SqsInspector from "./SqsInspector.js"
export * as WorkerFile from "./WorkerFile.js"
