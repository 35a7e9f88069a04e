/**
 * The hand on the consumer: pause and resume. It has nothing to hold until the worker has begun.
 *
 * @since 0.1.0
 */
import type { Consumer } from "@effect-sqs/core/Consumer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import type * as Scope from "effect/Scope"

/**
 * @since 0.1.0
 * @category services
 */
export class Control extends Context.Tag("@effect-sqs/report-worker/Control")<
  Control,
  {
    /** to be told of the consumer, for as long as the scope is open */
    readonly attach: (consumer: Consumer) => Effect.Effect<void, never, Scope.Scope>
    readonly consumer: Effect.Effect<Option.Option<Consumer>>
  }
>() {
  /**
   * @category layers
   */
  static readonly layer: Layer.Layer<Control> = Layer.effect(
    Control,
    Effect.map(Ref.make(Option.none<Consumer>()), (held) =>
      Control.of({
        attach: (consumer) =>
          Effect.acquireRelease(Ref.set(held, Option.some(consumer)), () => Ref.set(held, Option.none())),
        consumer: Ref.get(held)
      })
    )
  )
}
