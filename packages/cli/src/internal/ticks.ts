/** Steps of axes that people read easily. */

const timeSteps = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1200, 1800, 3600, 7200, 10_800, 14_400, 21_600,
  43_200, 86_400
]

/** Seconds between ticks, so that there are at most so many steps. */
export const niceStep = (toSeconds: number, maxSteps: number): number =>
  timeSteps.find((step) => toSeconds / step <= maxSteps) ?? Math.ceil(toSeconds / maxSteps / 86_400) * 86_400

/** The same for numbers: 1, 2 or 5 times a power of ten. */
export const niceNumber = (to: number, maxSteps: number): number => {
  if (!(to > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(to / maxSteps))
  return [1, 2, 5, 10].map((m) => m * power).find((step) => to / step <= maxSteps * (1 + 1e-9)) ?? 10 * power
}
