/** The producer's trace context in a message attribute, as W3C Trace Context writes it. */
import * as Tracer from "effect/Tracer"

/** Name of the message attribute. */
export const TRACEPARENT = "traceparent"

const pattern = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** `undefined` when the tracer's ids are not those of W3C. */
export const encode = (span: Tracer.AnySpan): string | undefined => {
  const text = `00-${span.traceId}-${span.spanId}-${span.sampled ? "01" : "00"}`.toLowerCase()
  return decode(text) === undefined ? undefined : text
}

/** `undefined` when the text is none, or names no span. */
export const decode = (text: string): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = pattern.exec(text) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (text.startsWith("ff") || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return Tracer.externalSpan({ traceId, spanId, sampled: (Number.parseInt(flags, 16) & 1) === 1 })
}
