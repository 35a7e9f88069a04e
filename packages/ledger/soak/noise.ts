/** A process that works in slices of 2 ms, and tells how late its timers were: `noise.ts SECONDS`. */
import { monitorEventLoopDelay } from "node:perf_hooks"

const until = performance.now() + Number(process.argv[2]) * 1000
const loop = monitorEventLoopDelay({ resolution: 5 })
loop.enable()
while (performance.now() < until) {
  const from = performance.now()
  while (performance.now() - from < 2);
  await new Promise((resolve) => setTimeout(resolve, 2))
}
loop.disable()
const found = { p50: loop.percentile(50) / 1e6, p99: loop.percentile(99) / 1e6, max: loop.max / 1e6 }
process.stdout.write(`noise${JSON.stringify(found)}\n`)
// its line is read before it is killed
setInterval(() => {}, 1000)
