/**
 * `decide`: a person's verdict on a delivery of which nobody knows whether it happened.
 *
 * @since 0.1.0
 */
import * as Ledger from "@effect-sqs/ledger/Ledger"
import { Verdict } from "@effect-sqs/ledger/Verdict"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { JobStore } from "../jobs/JobStore.js"
import { namespaces } from "../Policies.js"
import type { Delivered } from "../webhook/Webhook.js"
import { badInput, refused } from "./CliError.js"
import * as Flags from "./Flags.js"
import { get, withDatabase } from "./Jobs.js"
import * as JobText from "./JobText.js"

const verdicts = {
  happened: {
    verdict: Verdict.Completed({ result: { status: 0, reported: true } satisfies Delivered }),
    delivery: "delivered",
    told: "counts as delivered"
  },
  "did-not-happen": {
    verdict: Verdict.DidNotHappen(),
    delivery: "pending",
    told: "is delivered again by the next worker"
  }
} as const

const isVerdict = (word: string): word is keyof typeof verdicts => Object.hasOwn(verdicts, word)

/**
 * @since 0.1.0
 * @category commands
 */
export const command = Command.make(
  "decide",
  {
    note: Flags.line("note", 500).pipe(
      Options.withPseudoName("text"),
      Options.withDescription("how this is known; it is kept in the job's history")
    ),
    json: Flags.json,
    given: Flags.args("id verdict", "the job, and happened or did-not-happen")
  },
  (asked) =>
    Effect.gen(function* () {
      const words = ["ID", "happened|did-not-happen"]
      const [given, verdict] = yield* Flags.exactly(asked.given, words, "decide")
      const id = yield* Flags.jobId(given!)
      if (!isVerdict(verdict!)) {
        return yield* badInput(`${Flags.shown(verdict!)} is no verdict: give happened or did-not-happen.`)
      }
      const decision = verdicts[verdict]
      yield* Effect.gen(function* () {
        const row = yield* get(id)
        const record = Option.getOrUndefined(yield* Ledger.get({ namespace: namespaces.deliveries, key: id }))
        if (record === undefined || (record.state !== "unknown" && record.state !== "review")) {
          return yield* refused(
            row.delivery === "none"
              ? `${id} is to be delivered to nobody: there is nothing to decide.`
              : `The delivery of ${id} is not in doubt (${row.delivery}): there is nothing to decide.`
          )
        }
        const reason = `a person says: ${verdict}${asked.note === undefined ? "" : `, ${asked.note}`}`
        const jobs = yield* JobStore
        yield* Ledger.transaction(
          Effect.zipRight(Ledger.decide(record, decision.verdict), jobs.delivery(id, decision.delivery, reason))
        )
        yield* Console.log(asked.json ? JobText.toJson(yield* get(id)) : `${id}: ${decision.told}`)
      }).pipe(withDatabase({ make: false }))
    })
).pipe(
  Command.withDescription(
    HelpDoc.blocks([
      HelpDoc.p(
        "Says whether a delivery happened whose outcome is unknown: its receiver does not know idempotency keys, and the call timed out, was cut off or was answered by an error. Ask the receiver first."
      ),
      HelpDoc.p("happened: it counts as delivered. did-not-happen: it is delivered again."),
      HelpDoc.p("Those that wait for a verdict: report-worker list --delivery unknown --delivery review")
    ])
  )
)
