/** Ids that follow from a seed: the n-th id of two simulators with one seed is the same. */

const hex: ReadonlyArray<string> = Array.from({ length: 256 }, (_, n) => n.toString(16).padStart(2, "0"))

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

const word = (n: number) => hex[n >>> 24]! + hex[(n >>> 16) & 0xff]! + hex[(n >>> 8) & 0xff]! + hex[n & 0xff]!

/** A UUID of version 4. */
export const uuid = (next: () => number): string => {
  const b = word((next() & 0xffff0fff) | 0x4000)
  const c = word((next() & 0x3fffffff) | 0x80000000)
  return `${word(next())}-${b.slice(0, 4)}-${b.slice(4)}-${c.slice(0, 4)}-${c.slice(4)}${word(next())}`
}
