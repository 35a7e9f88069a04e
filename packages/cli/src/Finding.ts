/**
 * What `doctor` finds: one thing that is wrong or risky, why it matters, and the command that mends it.
 *
 * @since 0.1.0
 */

/**
 * How bad: `fault` loses or repeats work now, `risk` does on a bad day, `unseen` could not be looked at, `advice` is only that.
 *
 * @since 0.1.0
 * @category models
 */
export type Severity = "fault" | "risk" | "unseen" | "advice"

/**
 * @since 0.1.0
 * @category models
 */
export interface Finding {
  /** stable, for programs: as `max-receive-count` */
  readonly id: string
  readonly severity: Severity
  readonly what: string
  readonly why: string
  /** commands that mend it, or show more; none where only a decision helps */
  readonly mend: ReadonlyArray<string>
}

const order: ReadonlyArray<Severity> = ["fault", "risk", "unseen", "advice"]

/**
 * Worst first; of one severity in the order in which they were found.
 *
 * @since 0.1.0
 * @category sorting
 */
export const worstFirst = (findings: ReadonlyArray<Finding>): ReadonlyArray<Finding> =>
  [...findings].sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))

/**
 * Whether this alone makes the result not in order. Advice does not.
 *
 * @since 0.1.0
 * @category getters
 */
export const isBad = ({ severity }: Finding): boolean => severity !== "advice"
