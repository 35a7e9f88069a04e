/**
 * How much one address may ask for: a bucket that fills at a steady rate.
 *
 * @since 0.1.0
 */

/**
 * @since 0.1.0
 * @category models
 */
export interface Bucket {
  readonly perSecond: number
  /** how much at once, after a pause */
  readonly burst: number
}

/** addresses that are remembered; the one not seen longest is forgotten first */
const maxAddresses = 2000

/**
 * One bucket for each address.
 *
 * @since 0.1.0
 * @category constructors
 */
export const buckets = ({ burst, perSecond }: Bucket) => {
  const levels = new Map<string, { readonly left: number; readonly at: number }>()
  const leftOf = (address: string, now: number) => {
    const level = levels.get(address)
    return level === undefined ? burst : Math.min(burst, level.left + (perSecond * Math.max(0, now - level.at)) / 1000)
  }
  const has = (address: string, now: number) => leftOf(address, now) >= 1
  return {
    has,
    /** takes one, where there is one */
    take: (address: string, now: number): boolean => {
      const left = leftOf(address, now)
      if (left < 1) return false
      levels.delete(address)
      levels.set(address, { left: left - 1, at: now })
      if (levels.size > maxAddresses) levels.delete(levels.keys().next().value!)
      return true
    }
  }
}
