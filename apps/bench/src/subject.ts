/**
 * One run of one subject, in a process of its own: told what to do by its argument, prints what was measured.
 */
import { Meter } from "./Meter.js"
import { type SubjectName, subjects } from "./Subjects.js"
import type { Work } from "./Work.js"

export interface SubjectRun {
  readonly subject: SubjectName
  readonly endpoint: string
  readonly queueUrl: string
  readonly concurrency: number
  readonly work: Work
  readonly count: number
  readonly warm: number
}

const run = JSON.parse(process.argv[2]!) as SubjectRun
const meter = new Meter(run.count, run.warm)
const ended = subjects[run.subject]({ ...run, meter })
// a subject that ends before its work is done has failed
ended.catch((error: unknown) => {
  process.stderr.write(`${run.subject}: ${String(error)}\n`)
  process.exit(1)
})
process.stdout.write(`${JSON.stringify(await meter.result())}\n`, () => process.exit(0))
