/**
 * The stream of changes for a browser: a snapshot, then what changes. Who comes back with the number of the last change goes
 * on there; who fell too far behind gets a new snapshot.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { JobEvent } from "../jobs/JobEvent.js"
import { Live, type Numbered } from "./Live.js"
import { Advice, Consuming, Counters, Lease, Snapshot } from "./View.js"

/** when a browser tries again after the stream broke */
const retryMs = 1000
/** changes that come together are sent together: hundreds a second are hundreds of packets otherwise */
const gatherFor = "20 millis"
/** a proxy cuts what is silent */
const pingEvery = "15 seconds"

const encodeSnapshot = Schema.encode(Schema.parseJson(Snapshot))
const encodeChange = {
  lease: Schema.encode(Schema.parseJson(Lease)),
  state: Schema.encode(Schema.parseJson(Schema.Struct({ consuming: Consuming, duplicates: Schema.Number }))),
  counters: Schema.encode(Schema.parseJson(Schema.Struct({ counters: Counters, advice: Advice }))),
  job: Schema.encode(Schema.parseJson(JobEvent))
}

const message = (id: string, event: string, data: string) => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`

const idPattern = /^([0-9a-f]{8})-(\d{1,15})$/

/**
 * The stream, from the change with this id on (the `Last-Event-ID`), or from a snapshot.
 *
 * @since 0.1.0
 * @category streams
 */
export const stream = (lastEventId: string | undefined): Stream.Stream<string, never, Live> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const live = yield* Live
      const changes = yield* live.watch
      const id = (seq: number) => `${live.boot}-${seq}`
      /** the number of the change that was told last */
      let last = 0

      const snapshot = Effect.gen(function* () {
        const { seq, snapshot } = yield* live.snapshot
        last = seq
        return message(id(seq), "snapshot", yield* Effect.orDie(encodeSnapshot(snapshot)))
      })

      const tell = ({ change, seq }: Numbered) =>
        Effect.gen(function* () {
          if (seq <= last) return ""
          // the buffer is full, and slid on
          if (seq > last + 1) return yield* snapshot
          last = seq
          const data = yield* Effect.orDie(encodeChange[change.kind](change.data as never))
          return message(id(seq), change.kind, data)
        })

      const [, boot, known] = idPattern.exec(lastEventId ?? "") ?? []
      const missed = boot === live.boot ? yield* live.since(Number(known)) : undefined
      const beginning = Stream.unwrap(
        Effect.gen(function* () {
          if (missed === undefined) return Stream.fromEffect(snapshot)
          last = Number(known)
          return Stream.mapEffect(Stream.fromIterable(missed), tell)
        })
      )
      const following = Stream.fromQueue(changes, { maxChunkSize: 256 }).pipe(
        Stream.chunks,
        Stream.mapEffect((chunk) => Effect.delay(Effect.forEach(chunk, tell), gatherFor)),
        Stream.map((texts) => texts.join("")),
        Stream.filter((text) => text !== "")
      )
      const pings = Stream.repeatValue(": ping\n\n").pipe(Stream.schedule(Schedule.spaced(pingEvery)))
      return Stream.make(`retry: ${retryMs}\n\n`).pipe(
        Stream.concat(beginning),
        Stream.concat(Stream.merge(following, pings, { haltStrategy: "left" }))
      )
    })
  )
