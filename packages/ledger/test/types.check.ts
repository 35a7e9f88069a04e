/** What the compiler knows of outside, once and handler: checked by `tsc`, never run. */
import { Consumer, Redelivery, SqsQueue } from "@effect-sqs/core"
import type { CurrentClaim } from "@effect-sqs/ledger/Claim"
import * as Ledger from "@effect-sqs/ledger/Ledger"
import type { LedgerCancelled } from "@effect-sqs/ledger/LedgerError"
import { Context, Effect, Schema } from "effect"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(equal: Equal<A, B>) => equal

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}
class Broken extends Schema.TaggedError<Broken>()("Broken", {}) {}
class Outside extends Context.Tag("test/Outside")<Outside, {}>() {}

const Jobs = SqsQueue.make("jobs", { schema: Schema.Struct({ id: Schema.String }) })

const ambiguous = Ledger.ambiguous({
  timeout: "1 second",
  result: Schema.Number,
  didNotHappen: (e: Refused | Broken) => e._tag === "Refused"
})

export const check = () => {
  const thrown = Ledger.outside("a", ambiguous, () => new Broken())
  same<Effect.Effect.Error<typeof thrown>, Broken | Ledger.OutsideError>(true)
  const _never = Ledger.outside("a", ambiguous, () => Effect.succeed(1))
  same<Effect.Effect.Error<typeof _never>, Ledger.OutsideError>(true)
  const _nothing = Ledger.outside("a", Ledger.replayable({ timeout: "1 second" }), () => Effect.as(Outside, undefined))
  same<Effect.Effect.Context<typeof _nothing>, CurrentClaim | Outside>(true)
  // @ts-expect-error an error that the policy does not know
  Ledger.outside("a", ambiguous, () => Effect.fail("other"))
  // @ts-expect-error a result that is not the policy's
  Ledger.outside("a", ambiguous, () => Effect.succeed("text"))

  const _once = Ledger.once(
    {
      namespace: "n",
      key: "k",
      result: Schema.Number,
      failure: (e) => (e._tag === "Broken" ? Ledger.reject : Ledger.retry())
    },
    () => Effect.zipRight(Outside, thrown)
  )
  same<Effect.Effect.Success<typeof _once>, number>(true)
  same<Effect.Effect.Error<typeof _once>, Broken | Ledger.OnceError | Ledger.OutsideError>(true)
  same<Effect.Effect.Context<typeof _once>, Ledger.Ledger | Outside>(true)
  // @ts-expect-error a result that is not the schema's
  Ledger.once({ namespace: "n", key: "k", result: Schema.Number }, () => Effect.succeed("text"))

  const handler = Ledger.handler(Jobs, { key: (job) => job.id, result: Schema.Number }, (_job, delivery, claim) =>
    Effect.zipRight(delivery.remaining, claim.commit(Effect.zipRight(Outside, thrown)))
  )
  type Handled = ReturnType<typeof handler>
  same<Effect.Effect.Success<Handled>, void>(true)
  same<Extract<Effect.Effect.Error<Handled>, LedgerCancelled>, never>(true)
  same<Effect.Effect.Context<Handled>, Ledger.Ledger | Outside>(true)

  const redelivery = Redelivery.standard.pipe(
    Ledger.redelivery,
    Redelivery.catchTag("LedgerUnknown", Redelivery.deadLetter),
    Redelivery.catchTag("Broken", Redelivery.deadLetter)
  )
  Consumer.run(Jobs, { redelivery }, handler)
  // @ts-expect-error a tag that cannot occur
  Consumer.run(Jobs, { redelivery: redelivery.pipe(Redelivery.catchTag("Typo", Redelivery.deadLetter)) }, handler)
  // the ledger's own answers may stand in front of a handler that knows nothing of it
  Consumer.run(Jobs, { redelivery: Redelivery.standard.pipe(Ledger.redelivery) }, () => Effect.void)
}
