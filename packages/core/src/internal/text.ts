/** The first `max` code units, less half a character: a lone surrogate is refused by SQS. */
export const cut = (text: string, max: number): string => {
  if (text.length <= max) return text
  const splits = /[\uD800-\uDBFF]/.test(text[max - 1]!) && /[\uDC00-\uDFFF]/.test(text[max]!)
  return text.slice(0, splits ? max - 1 : max)
}

/** What a user's value says of itself. Errors may be anything, and even printing one may throw. */
export const saying = (text: () => string): string => {
  try {
    return text()
  } catch {
    return "a value that cannot be printed"
  }
}

/** An error in words. */
export const inWords = (error: unknown): string =>
  saying(() => (error instanceof Error ? error.message : String(error)))
