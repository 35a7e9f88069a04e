/** So many receives, in words. */
export const receives = (n: number): string => (n === 1 ? "1 receive" : `${n} receives`)
