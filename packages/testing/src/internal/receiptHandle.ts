/**
 * Receipt handles that say by themselves what they were issued for, so that nothing has to be remembered of deleted
 * messages: queue, message, number and time of the receive, and a check sum against what was never a handle.
 */

export interface ReceiptHandle {
  readonly queueUid: number
  readonly serial: number
  /** number of the receive in this queue, from 1 */
  readonly receive: number
  /** epoch ms */
  readonly receivedAt: number
}

const length = 30
const textLength = 40
const buffer = Buffer.alloc(length)
buffer[0] = 1
buffer[1] = 1
buffer[2] = 1

const checksum = (bytes: Buffer): number => {
  let h = 0x811c9dc5
  for (let i = 0; i < length - 4; i++) h = Math.imul(h ^ bytes[i]!, 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  return (h ^ (h >>> 13)) >>> 0
}

export const encode = (queueUid: number, serial: number, receive: number, receivedAt: number): string => {
  buffer.writeUInt32BE(queueUid, 3)
  buffer.writeUIntBE(serial, 7, 6)
  buffer.writeUInt32BE(receive, 13)
  buffer.writeDoubleBE(receivedAt, 17)
  buffer.writeUInt32BE(checksum(buffer), length - 4)
  return buffer.toString("base64")
}

/** `undefined`: this never was a handle. */
export const decode = (handle: string): ReceiptHandle | undefined => {
  if (handle.length !== textLength || !handle.startsWith("AQEB")) return undefined
  const bytes = Buffer.from(handle, "base64")
  if (bytes.length !== length || bytes.readUInt32BE(length - 4) !== checksum(bytes)) return undefined
  return {
    queueUid: bytes.readUInt32BE(3),
    serial: bytes.readUIntBE(7, 6),
    receive: bytes.readUInt32BE(13),
    receivedAt: bytes.readDoubleBE(17)
  }
}
