/** Numbers that follow from a seed and the place where they are drawn, whatever else was drawn before. */

type Seed = number | string

/** FNV-1a, finished so that near places lie far apart. */
const hash = (text: string): number => {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

/** A number in [0, 1) for this seed and place. */
export const draw = (seed: Seed, ...place: ReadonlyArray<string | number>): number =>
  hash(`${seed}\u0000${place.join("\u0000")}`) / 0x1_0000_0000

/** The items in an order for this seed and place. */
export const shuffle = <A>(
  items: ReadonlyArray<A>,
  seed: Seed,
  ...place: ReadonlyArray<string | number>
): ReadonlyArray<A> => {
  const out = [...items]
  for (let i = out.length - 1; i > 0; i--) {
    const j = Math.floor(draw(seed, ...place, i) * (i + 1))
    const x = out[i]!
    out[i] = out[j]!
    out[j] = x
  }
  return out
}
