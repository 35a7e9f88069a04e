/** Binary attribute values: bytes for the caller, base64 on the wire. */
import type { Json } from "../input.js"

const walk = (value: unknown, turn: (key: string, value: unknown) => unknown): unknown => {
  if (Array.isArray(value)) return value.map((item) => walk(item, turn))
  if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, turn(key, walk(inner, turn))]))
}

export const toWire = (input: Json): Json =>
  walk(input, (_, value) => (value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value)) as Json

export const fromWire = (output: Json): Json =>
  walk(output, (key, value) =>
    key === "BinaryValue" && typeof value === "string" ? new Uint8Array(Buffer.from(value, "base64")) : value
  ) as Json
