/** The first `max` code units, less half a character: a lone surrogate is refused by SQS. */
export const cut = (text: string, max: number): string => {
  if (text.length <= max) return text
  const splits = /[\uD800-\uDBFF]/.test(text[max - 1]!) && /[\uDC00-\uDFFF]/.test(text[max]!)
  return text.slice(0, splits ? max - 1 : max)
}
