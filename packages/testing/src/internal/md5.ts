/** The MD5s that SQS puts beside bodies and attributes, and the SHA-256 of content-based deduplication. */
import { createHash } from "node:crypto"
import type { WireAttributes } from "./wireAttributes.js"

export const md5OfBody = (body: string): string => createHash("md5").update(body, "utf8").digest("hex")

export const sha256OfBody = (body: string): string => createHash("sha256").update(body, "utf8").digest("hex")

const withLength = (bytes: Buffer): ReadonlyArray<Buffer> => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return [length, bytes]
}
const isString = Buffer.from([1])
const isBinary = Buffer.from([2])

/** Over the attributes in the order of their names' code units: name, type, kind of value, value. */
export const md5OfAttributes = (attributes: WireAttributes): string => {
  const hash = createHash("md5")
  for (const [name, value] of Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const binary = value.BinaryValue !== undefined
    for (const part of [
      ...withLength(Buffer.from(name, "utf8")),
      ...withLength(Buffer.from(value.DataType, "utf8")),
      binary ? isBinary : isString,
      ...withLength(binary ? Buffer.from(value.BinaryValue, "base64") : Buffer.from(value.StringValue ?? "", "utf8"))
    ]) {
      hash.update(part)
    }
  }
  return hash.digest("hex")
}
