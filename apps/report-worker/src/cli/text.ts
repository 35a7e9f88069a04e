/** Words for values, as all commands show them. */

const second = 1000
const units = [
  [86_400 * second, "d"],
  [3600 * second, "h"],
  [60 * second, "min"],
  [second, "s"]
] as const

/** `2026-12-01T08:00:05Z` */
export const instant = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19)}Z`

/** `3 min`; one unit is enough for people */
export const span = (ms: number): string => {
  const [unit, name] = units.find(([size]) => ms >= size) ?? [second, "s"]
  return `${Math.round(ms / unit)} ${name}`
}

/** `3 min ago`, `in 2 h` */
export const relative = (at: number, now: number): string =>
  at > now ? `in ${span(at - now)}` : `${span(now - at)} ago`

/** `173 kB` */
export const size = (bytes: number): string => {
  if (bytes < 1000) return `${bytes} B`
  const [value, unit] = bytes < 1e6 ? [bytes / 1e3, "kB"] : bytes < 1e9 ? [bytes / 1e6, "MB"] : [bytes / 1e9, "GB"]
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`
}

/** What others have written goes to a terminal: without its control characters, on one line. */
export const plain = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, " ").trim()
