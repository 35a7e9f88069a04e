/**
 * The service: a store, the settings of this process, and who is told what happens.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { LedgerOptionsInvalid } from "./LedgerError.js"
import type { LedgerEvent } from "./LedgerEvent.js"
import * as LedgerMetrics from "./LedgerMetrics.js"
import { LedgerStore } from "./LedgerStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface LedgerOptions {
  /**
   * How long a claim lasts unless renewed; default 1 minute. It must be longer than the timeout of any outside call, and it
   * is how long others wait for a process that died.
   */
  readonly claim?: Duration.DurationInput | undefined
  /** how often a claim is renewed; default a third of it: two renewals may fail before the third is too late */
  readonly renewEvery?: Duration.DurationInput | undefined
  /** how long one statement may take before it counts as unanswered; default 5 seconds */
  readonly storeTimeout?: Duration.DurationInput | undefined
  /** the most that a stored result may take, in bytes of JSON; default 65,536. Store larger ones elsewhere, and a reference */
  readonly maxResultBytes?: number | undefined
  /**
   * How long an ended key is remembered; default 45 days. It must be longer than a message can come back: retention of the
   * queue, plus that of the dead-letter queue, plus the time to redrive by hand.
   */
  readonly retention?: Duration.DurationInput | undefined
  /** told of everything; what it throws is ignored. Keep it quick: the job waits for it */
  readonly onEvent?: ((event: LedgerEvent) => Effect.Effect<void>) | undefined
}

/**
 * The options, decoded.
 *
 * @since 0.1.0
 * @category models
 */
export interface LedgerSettings {
  readonly claimMs: number
  readonly renewEveryMs: number
  readonly storeTimeoutMs: number
  readonly maxResultBytes: number
  readonly retentionMs: number
}

/**
 * The service.
 *
 * @since 0.1.0
 * @category services
 */
export class Ledger extends Context.Tag("@effect-sqs/ledger/Ledger")<
  Ledger,
  {
    readonly store: LedgerStore["Type"]
    readonly settings: LedgerSettings
    /** counts the event and tells the listener; never fails */
    readonly emit: (event: LedgerEvent) => Effect.Effect<void>
  }
>() {}

const decode = (o: LedgerOptions): LedgerSettings => {
  const claimMs = Duration.toMillis(o.claim ?? "1 minute")
  return {
    claimMs,
    renewEveryMs: o.renewEvery === undefined ? claimMs / 3 : Duration.toMillis(o.renewEvery),
    storeTimeoutMs: Duration.toMillis(o.storeTimeout ?? "5 seconds"),
    maxResultBytes: o.maxResultBytes ?? 65_536,
    retentionMs: Duration.toMillis(o.retention ?? "45 days")
  }
}

const faultsOf = (s: LedgerSettings): ReadonlyArray<string> => {
  const positive = (name: string, value: number) =>
    Number.isFinite(value) && value > 0 ? [] : [`${name} must be above zero and finite, not ${value}`]
  return [
    ...positive("claim", s.claimMs),
    ...positive("renewEvery", s.renewEveryMs),
    ...positive("storeTimeout", s.storeTimeoutMs),
    ...positive("maxResultBytes", s.maxResultBytes),
    ...positive("retention", s.retentionMs),
    ...(s.renewEveryMs < s.claimMs
      ? []
      : [`renewEvery (${s.renewEveryMs} ms) must be shorter than claim (${s.claimMs} ms)`])
  ]
}

const make = (options: LedgerOptions, settings: LedgerSettings) =>
  Effect.map(LedgerStore, (store) => {
    const { onEvent } = options
    return Ledger.of({
      store,
      settings,
      emit: (event) =>
        Effect.zipRight(
          LedgerMetrics.record(event),
          onEvent === undefined
            ? Effect.void
            : Effect.catchAllCause(
                Effect.suspend(() => onEvent(event)),
                () => Effect.void
              )
        )
    })
  })

/**
 * The ledger with the default options, on whatever store is provided.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<Ledger, never, LedgerStore> = Layer.effect(Ledger, make({}, decode({})))

/**
 * The ledger with options of your own. Fails with all that is wrong with them.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (options: LedgerOptions): Layer.Layer<Ledger, LedgerOptionsInvalid, LedgerStore> =>
  Layer.effect(
    Ledger,
    Effect.suspend(() => {
      const settings = decode(options)
      const faults = faultsOf(settings)
      return faults.length === 0 ? make(options, settings) : Effect.fail(new LedgerOptionsInvalid({ faults }))
    })
  )
