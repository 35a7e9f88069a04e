/** What the compiler knows of handlers, policies and bodies: checked by `tsc`, never run. */
import {
  BatchHandler,
  Consumer,
  type ConsumerEvent,
  type Delivery,
  Policy,
  type Poller,
  Producer,
  Redelivery,
  Settlement,
  type Sqs,
  SqsQueue,
  type StartError
} from "@effect-sqs/core"
import { Context, type Duration, Effect, Either, type Layer, Schedule, Schema, type Scope, Stream } from "effect"

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(equal: Equal<A, B>) => equal
type SuccessOf<S> = S extends Effect.Effect<infer A, any, any> ? A : never
type ErrorOf<S> = S extends Effect.Effect<any, infer E, any> ? E : never
type NeedsOf<S> = S extends Effect.Effect<any, any, infer R> ? R : never

class UnknownDataset extends Schema.TaggedError<UnknownDataset>()("UnknownDataset", { name: Schema.String }) {}
class Busy extends Schema.TaggedError<Busy>()("Busy", { retryAfter: Schema.DurationFromMillis }) {}
class Elsewhere extends Schema.TaggedError<Elsewhere>()("Elsewhere", {}) {}

class Pdf extends Context.Tag("test/Pdf")<Pdf, { readonly render: Effect.Effect<void> }>() {}
class Quota extends Context.Tag("test/Quota")<Quota, { readonly delay: Duration.Duration }>() {}
class Listener extends Context.Tag("test/Listener")<Listener, { readonly tell: (e: unknown) => void }>() {}
class Keys extends Context.Tag("test/Keys")<Keys, { readonly key: string }>() {}

class ReportJob extends Schema.Class<ReportJob>("ReportJob")({ reportId: Schema.String, at: Schema.Date }) {}
const ReportJobs = SqsQueue.make("report-jobs", { schema: ReportJob })

/** a schema that needs a service */
const Sealed = Schema.transformOrFail(Schema.String, Schema.Number, {
  strict: true,
  decode: (text) => Effect.map(Keys, ({ key }) => text.length + key.length),
  encode: (n) => Effect.map(Keys, ({ key }) => key.repeat(n))
})
const SealedJobs = SqsQueue.make("sealed-jobs", { schema: Sealed })

declare const generate: (job: ReportJob) => Effect.Effect<void, UnknownDataset | Busy, Pdf>

const backoff = Redelivery.schedule(
  Schedule.exponential("10 seconds").pipe(
    Schedule.union(Schedule.spaced("15 minutes")),
    Schedule.jitteredWith({ min: 0.5, max: 1 })
  ),
  { whenOver: Redelivery.deadLetter }
)
const byTag = backoff.pipe(
  Redelivery.catchTag("UnknownDataset", Redelivery.deadLetter),
  Redelivery.catchError(Busy, (e) => Redelivery.release(e.retryAfter))
)
const byQuota = Redelivery.make(() => Effect.map(Quota, ({ delay }) => Settlement.Release(delay)))

export const signatures = () => {
  const _run = Consumer.run(ReportJobs, { concurrency: 16, redelivery: byTag }, (job) => generate(job))
  same<typeof _run, Effect.Effect<never, StartError.StartError | Poller.PollError, Sqs.Sqs | Pdf>>(true)

  const _layer = Consumer.layer(ReportJobs, { redelivery: byTag }, (job) => generate(job))
  same<typeof _layer, Layer.Layer<never, StartError.StartError | Poller.PollError, Sqs.Sqs | Pdf>>(true)

  const _made = Consumer.make(ReportJobs, {}, (job) => generate(job))
  same<typeof _made, Effect.Effect<Consumer.Consumer, StartError.StartError, Sqs.Sqs | Pdf | Scope.Scope>>(true)
  same<Consumer.Consumer["events"], Stream.Stream<ConsumerEvent.ConsumerEvent>>(true)
  same<Consumer.Consumer["failure"], Effect.Effect<never, Poller.PollError>>(true)

  const stream = Consumer.stream(ReportJobs, { concurrency: 16 })
  same<typeof stream, Stream.Stream<Delivery.Delivery<ReportJob>, StartError.StartError | Poller.PollError, Sqs.Sqs>>(
    true
  )
  const _settled = stream.pipe(
    Stream.mapEffect((d) => d.process((job) => generate(job), { redelivery: byTag }), { concurrency: "unbounded" })
  )
  same<typeof _settled, Stream.Stream<Settlement.Settled, StartError.StartError | Poller.PollError, Sqs.Sqs | Pdf>>(
    true
  )
  // a stop of its own, with what it needs
  const _stopped = Consumer.stream(ReportJobs, { stop: Effect.asVoid(Quota) })
  same<Stream.Stream.Context<typeof _stopped>, Sqs.Sqs | Quota>(true)
}

export const tags = () => {
  const typo = Redelivery.leave.pipe(Redelivery.catchTag("Typo", Redelivery.leave))
  // @ts-expect-error a tag that cannot occur
  Consumer.run(ReportJobs, { redelivery: backoff.pipe(Redelivery.catchTag("Typo", Redelivery.leave)) }, (job) =>
    generate(job)
  )
  Consumer.layer(
    ReportJobs,
    // @ts-expect-error an error that cannot occur
    { redelivery: backoff.pipe(Redelivery.catchError(Elsewhere, () => Redelivery.leave)) },
    (job) => generate(job)
  )
  // @ts-expect-error the handler's errors are handled: nothing is left to name
  Consumer.run(ReportJobs, { redelivery: byTag }, (job) => Effect.ignore(generate(job)))
  // @ts-expect-error one of the two is handled
  Consumer.make(ReportJobs, { redelivery: byTag }, (job) => Effect.catchTag(generate(job), "Busy", () => Effect.void))
  // @ts-expect-error errors without a tag cannot be named
  Consumer.run(ReportJobs, { redelivery: byTag }, () => Effect.fail("text"))
  const inside = backoff.pipe(Redelivery.catchTag("Busy", typo))
  // @ts-expect-error the tag in the branch of another is held against the handler too
  Consumer.run(ReportJobs, { redelivery: inside }, (job) => generate(job))
  const behind = backoff.pipe(Redelivery.lastAttempt(typo))
  // @ts-expect-error and so is the one behind the last attempt
  Consumer.run(ReportJobs, { redelivery: behind }, (job) => generate(job))
  // @ts-expect-error on the stream as well
  Stream.mapEffect(Consumer.stream(ReportJobs), (d) => d.process((job) => generate(job), { redelivery: typo }))
  // what the consumer itself fails a run with may always be named
  const own = backoff.pipe(
    Redelivery.catchTag("AttemptTimedOut", Redelivery.leave),
    Redelivery.catchTag("TotalTimedOut", Redelivery.leave),
    Redelivery.catchTag("LeaseLost", Redelivery.leave)
  )
  Consumer.run(ReportJobs, { redelivery: own }, () => Effect.void)
  // a policy that names nothing goes with any handler
  Consumer.run(ReportJobs, { redelivery: backoff }, () => Effect.fail("text"))
  Consumer.run(ReportJobs, { redelivery: backoff }, () => Effect.void)
  // what Effect adds to the error channel may be named
  const late = backoff.pipe(Redelivery.catchTag("TimeoutException", Redelivery.deadLetter))
  Consumer.run(ReportJobs, { redelivery: late }, (job) => Effect.timeout(generate(job), "10 minutes"))
  // the order of the arguments' inference does not matter: a handler with a type of its own, and one inside
  const handler = (job: ReportJob) => generate(job)
  Consumer.run(ReportJobs, { redelivery: byTag }, handler)
  // the payload of the error is known
  // @ts-expect-error it has no such field
  Redelivery.catchError(Busy, (e) => Redelivery.release(e.delay))
  // bodies that cannot be decoded have one error
  Consumer.run(
    ReportJobs,
    { undecodable: backoff.pipe(Redelivery.catchTag("DecodeError", Redelivery.delete)) },
    generate
  )
  // @ts-expect-error and no other
  Consumer.run(ReportJobs, { undecodable: byTag }, generate)
  // a policy's retry sees the handler's errors, and its own timeout
  const policy = Policy.make({
    retry: Schedule.recurs(3).pipe(
      Schedule.whileInput((e: UnknownDataset | Busy | Policy.AttemptTimedOut) => e._tag === "Busy")
    )
  })
  Consumer.run(ReportJobs, { policy }, (job) => generate(job))
  // @ts-expect-error of which this one is none
  Consumer.run(ReportJobs, { policy }, () => new Elsewhere())
}

export const needs = () => {
  // handler, redelivery, events and schema each need something else
  const _run = Consumer.run(
    SealedJobs,
    {
      redelivery: byQuota,
      onEvent: (e) => Effect.map(Listener, ({ tell }) => tell(e))
    },
    (n) => Effect.flatMap(Pdf, ({ render }) => Effect.repeatN(render, n))
  )
  same<NeedsOf<typeof _run>, Sqs.Sqs | Keys | Quota | Listener | Pdf>(true)
  same<ErrorOf<typeof _run>, StartError.StartError | Poller.PollError>(true)
  const _three = Consumer.run(
    ReportJobs,
    {
      redelivery: byQuota,
      undecodable: Redelivery.make(() => Effect.as(Keys, Settlement.Leave)),
      policy: Policy.make({ retry: Schedule.recurs(3).pipe(Schedule.mapEffect((n) => Effect.as(Listener, n))) })
    },
    (job) => generate(job)
  )
  same<NeedsOf<typeof _three>, Sqs.Sqs | Quota | Keys | Listener | Pdf>(true)
  const _undecodable = Consumer.run(ReportJobs, { undecodable: byQuota }, (job) => generate(job))
  same<NeedsOf<typeof _undecodable>, Sqs.Sqs | Quota | Pdf>(true)
  const _combined = Consumer.run(
    ReportJobs,
    { redelivery: backoff.pipe(Redelivery.catchTag("Busy", byQuota)) },
    (job) => generate(job)
  )
  same<NeedsOf<typeof _combined>, Sqs.Sqs | Quota | Pdf>(true)
  const scheduled = Redelivery.schedule(Schedule.recurs(3).pipe(Schedule.mapEffect((n) => Effect.as(Quota, n))), {
    whenOver: Redelivery.leave
  })
  const _bySchedule = Consumer.layer(ReportJobs, { redelivery: scheduled }, () => Effect.void)
  same<Layer.Layer.Context<typeof _bySchedule>, Sqs.Sqs | Quota>(true)
  const _retried = Consumer.run(
    ReportJobs,
    { policy: Policy.make({ retry: Schedule.recurs(3).pipe(Schedule.mapEffect((n) => Effect.as(Quota, n))) }) },
    (job) => generate(job)
  )
  same<NeedsOf<typeof _retried>, Sqs.Sqs | Quota | Pdf>(true)
  const _processed = Stream.mapEffect(Consumer.stream(ReportJobs), (d) =>
    d.process((job) => generate(job), { redelivery: byQuota })
  )
  same<Stream.Stream.Context<typeof _processed>, Sqs.Sqs | Quota | Pdf>(true)
  const _watched = Consumer.stream(ReportJobs, {
    onEvent: () => Effect.asVoid(Listener),
    undecodable: byQuota,
    stop: Effect.asVoid(Keys)
  })
  same<Stream.Stream.Context<typeof _watched>, Sqs.Sqs | Quota | Listener | Keys>(true)
  const _sealed = Consumer.stream(SealedJobs)
  same<Stream.Stream.Context<typeof _sealed>, Sqs.Sqs | Keys>(true)
  // a handler's Scope is none of the consumer's, nor of who runs it: what it acquires would pile up
  const leaks = () =>
    Effect.zipRight(
      Effect.asVoid(Pdf),
      Effect.addFinalizer(() => Effect.void)
    )
  const _leaks = Effect.scoped(Consumer.run(ReportJobs, {}, leaks))
  same<NeedsOf<typeof _leaks>, Sqs.Sqs | Pdf | Delivery.HandlerIsNotScoped>(true)
  const _leakingLayer = Consumer.layer(ReportJobs, {}, leaks)
  same<Layer.Layer.Context<typeof _leakingLayer>, Sqs.Sqs | Pdf | Delivery.HandlerIsNotScoped>(true)
  const _leakingMade = Effect.scoped(Consumer.make(ReportJobs, {}, leaks))
  same<NeedsOf<typeof _leakingMade>, Sqs.Sqs | Pdf | Delivery.HandlerIsNotScoped>(true)
  const _leakingStream = Stream.mapEffect(Consumer.stream(ReportJobs), (d) => d.process(leaks))
  same<Stream.Stream.Context<typeof _leakingStream>, Sqs.Sqs | Pdf | Delivery.HandlerIsNotScoped>(true)
  const _leakingBatch = BatchHandler.make(ReportJobs, { size: 10, window: "1 second" }, leaks)
  same<NeedsOf<typeof _leakingBatch>, Pdf | Delivery.HandlerIsNotScoped>(true)
  // a handler in a scope of its own needs none of the consumer's
  const _scoped = Consumer.run(ReportJobs, {}, () => Effect.scoped(Effect.addFinalizer(() => Effect.void)))
  same<NeedsOf<typeof _scoped>, Sqs.Sqs>(true)
}

export const bodies = () => {
  Consumer.run(ReportJobs, {}, (_job, _delivery) => {
    same<typeof _job, ReportJob>(true)
    same<typeof _delivery, Delivery.Delivery<ReportJob>>(true)
    same<typeof _delivery.body, ReportJob>(true)
    same<typeof _job.at, Date>(true)
    return Effect.void
  })
  // @ts-expect-error another body
  Consumer.run(ReportJobs, {}, (_job: { readonly other: number }) => Effect.void)
  // @ts-expect-error no effect at all
  Consumer.run(ReportJobs, {}, async () => {})
  // @ts-expect-error an option that there is not
  Consumer.run(ReportJobs, { concurency: 3 }, () => Effect.void)
  // @ts-expect-error a group's option that there is not
  Consumer.run(ReportJobs, { lease: { visibilityTimeout: "1 minute" } }, () => Effect.void)

  const _sent = Effect.flatMap(Producer.make(ReportJobs), (p) =>
    p.send(new ReportJob({ reportId: "1", at: new Date(0) }))
  )
  same<Extract<NeedsOf<typeof _sent>, Keys>, never>(true)
  // @ts-expect-error the decoded side, not the encoded one
  Effect.flatMap(Producer.make(ReportJobs), (p) => p.send({ reportId: "1", at: "1970-01-01" }))
  // deliveries are covariant in their body: one for more serves one for less
  const narrow = (d: Delivery.Delivery<ReportJob>): Delivery.Delivery<{ readonly reportId: string }> => d
  return narrow
}

export const batches = () => {
  const handler = BatchHandler.make(ReportJobs, { size: 10, window: "1 second" }, (deliveries) => {
    same<typeof deliveries, ReadonlyArray<Delivery.Delivery<ReportJob>>>(true)
    return Effect.map(Pdf, () =>
      deliveries.map((d) => (d.body.reportId === "" ? Either.left(new Elsewhere()) : Either.void))
    )
  })
  same<NeedsOf<typeof handler>, Pdf>(true)
  same<ErrorOf<ReturnType<SuccessOf<typeof handler>>>, Elsewhere>(true)
  const _run = Effect.flatMap(handler, (h) =>
    Consumer.run(ReportJobs, { redelivery: backoff.pipe(Redelivery.catchTag("Elsewhere", Redelivery.delete)) }, h)
  )
  same<NeedsOf<typeof _run>, Sqs.Sqs | Pdf>(true)
  Effect.flatMap(handler, (h) =>
    // @ts-expect-error a tag that no delivery of the batch can fail with
    Consumer.run(ReportJobs, { redelivery: backoff.pipe(Redelivery.catchTag("Busy", Redelivery.delete)) }, h)
  )
  // @ts-expect-error for another queue
  Effect.flatMap(handler, (h) => Consumer.run(SealedJobs, {}, h))
}
