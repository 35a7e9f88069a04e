/**
 * The scenarios on the server: which subjects run what, and with how much latency. Those in virtual time are in
 * `Virtual.ts`, memory is in `Memory.ts`.
 */
import type { SubjectName } from "./Subjects.js"
import type { Work } from "./Work.js"

export interface ScenarioRun {
  /** the row of the table */
  readonly label: string
  readonly subject: SubjectName
  readonly concurrency: number
  readonly work: Work
  readonly count: number
  readonly warm: number
}

export interface Scenario {
  readonly name: string
  readonly title: string
  readonly latencyMs: number
  readonly runs: ReadonlyArray<ScenarioRun>
}

const OURS: SubjectName = "effect-sqs"
const PEERS: ReadonlyArray<SubjectName> = ["squiss-ts", "sqs-consumer batch", "sqs-consumer single"]
/** they run ten at a time and wait for the slowest: their makespan is a multiple, of however many messages */
const IN_TENS: ReadonlyArray<SubjectName> = ["sqs-consumer batch", "sqs-consumer single", "loop"]

const noOp = (latencyMs: number): Scenario => ({
  name: latencyMs === 0 ? "no-op" : `no-op-${latencyMs}ms`,
  title: `Handlers that end at once, 50 at a time, a backlog, ${latencyMs} ms of latency`,
  latencyMs,
  runs: [OURS, "loop" as const, ...PEERS].map((subject) => ({
    label: subject,
    subject,
    concurrency: 50,
    work: { kind: "no-op" },
    count: 25_000,
    warm: 5_000
  }))
})

const uneven = (concurrency: number, latencyMs: number): Scenario => ({
  name: `uneven-${concurrency}${latencyMs === 0 ? "" : `-${latencyMs}ms`}`,
  title: `90 % take 20 ms, 10 % take 400 ms, ${concurrency} at a time, ${latencyMs} ms of latency`,
  latencyMs,
  runs: [OURS, "pool without SQS" as const, "squiss-ts" as const, "sqs-consumer batch" as const, "loop" as const].map(
    (subject) => ({
      label: subject,
      subject,
      concurrency,
      work: { kind: "uneven" },
      count: (IN_TENS.includes(subject) ? 40 : 200) * concurrency,
      warm: 0
    })
  )
})

/** at the same rate, so that receives and deletes are as full: only the number of handlers differs */
const HANDLERS_RATE_PER_S = 1_500

const handlers: Scenario = {
  name: "handlers",
  title: `10, 1,000 and 10,000 handlers running, about ${HANDLERS_RATE_PER_S} messages/s`,
  latencyMs: 0,
  runs: [10, 1_000, 10_000].map((concurrency) => ({
    label: `${concurrency} running`,
    subject: OURS,
    concurrency,
    work: { kind: "even", ms: (concurrency / HANDLERS_RATE_PER_S) * 1000 },
    count: 10_000 + concurrency * 2,
    warm: 2_000 + concurrency
  }))
}

const observed: Scenario = {
  name: "observability",
  title: "Metrics and spans, handlers that end at once, 50 at a time",
  latencyMs: 0,
  runs: (
    [
      ["off", "effect-sqs, metrics off"],
      ["metrics on", "effect-sqs"],
      ["spans on", "effect-sqs, spans on"]
    ] as const
  ).map(([label, subject]) => ({
    label,
    subject,
    concurrency: 50,
    work: { kind: "no-op" },
    count: 25_000,
    warm: 5_000
  }))
}

export const scenarios: ReadonlyArray<Scenario> = [
  noOp(0),
  noOp(10),
  uneven(10, 0),
  uneven(10, 10),
  uneven(50, 0),
  uneven(50, 10),
  handlers,
  observed
]
