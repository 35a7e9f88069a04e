import { assert, describe, it } from "@effect/vitest"
import { Tracer } from "effect"
import * as Traceparent from "../src/internal/traceparent.js"

describe("traceparent", () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c"
  const spanId = "b7ad6b7169203331"

  it("is the other way of its own writing", () => {
    for (const sampled of [true, false]) {
      const text = Traceparent.encode(Tracer.externalSpan({ traceId, spanId, sampled }))
      assert.strictEqual(text, `00-${traceId}-${spanId}-0${sampled ? 1 : 0}`)
      const span = Traceparent.decode(text ?? "")
      assert.deepStrictEqual([span?.traceId, span?.spanId, span?.sampled], [traceId, spanId, sampled])
    }
  })

  it("takes no text that W3C forbids", () => {
    for (const text of [
      "",
      "x",
      `ff-${traceId}-${spanId}-01`,
      `00-${"0".repeat(32)}-${spanId}-01`,
      `00-${traceId}-${"0".repeat(16)}-01`,
      `00-${traceId}-${spanId}`,
      `00-${traceId.toUpperCase()}-${spanId}-01`
    ]) {
      assert.isUndefined(Traceparent.decode(text))
    }
  })

  it("writes nothing for ids of another kind", () => {
    assert.isUndefined(Traceparent.encode(Tracer.externalSpan({ traceId: "abc", spanId: "1" })))
  })
})
