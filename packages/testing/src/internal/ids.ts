/** Ids that follow from a seed: the n-th id of two simulators with one seed is the same. */

const scramble = (n: number): number => {
  let h = n | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** A small fast generator (sfc32) of 32-bit numbers. */
export const generator = (seed: number | string): (() => number) => {
  let a = 0x9e3779b9
  for (const character of String(seed)) a = scramble(a ^ Math.imul(character.codePointAt(0)!, 0x01000193))
  let b = scramble(a + 1)
  let c = scramble(a + 2)
  let counter = 1
  const next = () => {
    const t = (((a + b) | 0) + counter) | 0
    counter = (counter + 1) | 0
    a = b ^ (b >>> 9)
    b = (c + (c << 3)) | 0
    c = (c << 21) | (c >>> 11)
    c = (c + t) | 0
    return t >>> 0
  }
  for (let i = 0; i < 12; i++) next()
  return next
}

const digits = Buffer.from("0123456789abcdef", "latin1")
/** where the hex digits of a UUID stand */
const places: ReadonlyArray<number> = [...Array(36).keys()].filter((at) => ![8, 13, 18, 23].includes(at))
const text = Buffer.from("00000000-0000-0000-0000-000000000000", "latin1")

/** A UUID of version 4. It is written into a buffer, because pieces put together would be kept as pieces. */
export const uuid = (next: () => number): string => {
  for (let word = 0; word < 4; word++) {
    const bits = next()
    for (let digit = 0; digit < 8; digit++) {
      text[places[word * 8 + digit]!] = digits[(bits >>> (28 - 4 * digit)) & 0xf]!
    }
  }
  text[14] = digits[4]!
  text[19] = digits[8 + (next() & 3)]!
  return text.toString("latin1")
}
