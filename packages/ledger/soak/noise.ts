/** A process that works in slices of 2 ms, and tells how late its timers were: `noise.ts SECONDS`. */
import { watchLoop } from "./loop.js"

process.stdout.write("started\n")
const until = performance.now() + Number(process.argv[2]) * 1000
const loop = watchLoop()
while (performance.now() < until) {
  const from = performance.now()
  while (performance.now() - from < 2);
  await new Promise((resolve) => setTimeout(resolve, 2))
}
const { lateMs, lateMsWithoutWaitingForACpu } = loop()
process.stdout.write(`noise${JSON.stringify({ lateMs, lateMsWithoutWaitingForACpu })}\n`)
// its line is read before it is killed
setInterval(() => {}, 1000)
