/**
 * What is measured inside the process of a subject. A message counts when its handler has ended; the first `warm` of
 * them warm the process up, the others are measured.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { setTimeout as sleep } from "node:timers/promises"

/** What one run of one subject gave. */
export interface Measured {
  readonly messages: number
  /** measured ones, per s */
  readonly perSecond: number
  /** user and system time of the process, s per 10,000 measured messages */
  readonly cpuPer10k: number
  /** from the first handler's start to the last one's end, ms */
  readonly makespanMs: number
  /** handlers that run, by time, and at most */
  readonly meanInFlight: number
  readonly maxInFlight: number
  readonly peakMb: number
  /** how late the event loop is, ms */
  readonly loopDelayMeanMs: number
  readonly loopDelayP99Ms: number
}

/** Settlements of the last handlers and what follows from them are part of a message's cost. */
const AFTER_MS = 300

export const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6

const cpuMs = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1000
}

export class Meter {
  private running = 0
  private most = 0
  private done = 0
  private area = 0
  private changedAt = 0
  private firstAt = 0
  private warmAt = 0
  private warmCpu = 0
  private lastAt = 0
  private readonly delay = monitorEventLoopDelay({ resolution: 10 })
  private finish: () => void = () => {}
  readonly finished = new Promise<void>((resolve) => {
    this.finish = resolve
  })

  constructor(
    private readonly total: number,
    private readonly warm: number
  ) {}

  private changed(by: number): void {
    const now = nowMs()
    if (this.firstAt === 0) this.firstAt = now
    else this.area += this.running * (now - this.changedAt)
    this.changedAt = now
    this.running += by
    if (this.running > this.most) this.most = this.running
  }

  /** a handler starts */
  begin(): void {
    this.changed(1)
    if (this.warm === 0 && this.warmAt === 0) this.startMeasuring()
  }

  /** a handler has ended */
  end(): void {
    this.changed(-1)
    if (++this.done === this.warm) this.startMeasuring()
    else if (this.done === this.total) {
      this.lastAt = nowMs()
      this.finish()
    }
  }

  private startMeasuring(): void {
    this.warmAt = nowMs()
    this.warmCpu = cpuMs()
    this.delay.enable()
  }

  async result(): Promise<Measured> {
    await this.finished
    this.delay.disable()
    await sleep(AFTER_MS)
    const measured = this.total - this.warm
    return {
      messages: this.total,
      perSecond: measured / ((this.lastAt - this.warmAt) / 1000),
      cpuPer10k: ((cpuMs() - this.warmCpu) / 1000 / measured) * 10_000,
      makespanMs: this.lastAt - this.firstAt,
      meanInFlight: this.area / (this.lastAt - this.firstAt),
      maxInFlight: this.most,
      peakMb: process.resourceUsage().maxRSS / 1024,
      loopDelayMeanMs: Math.max(0, this.delay.mean / 1e6 - 10),
      loopDelayP99Ms: Math.max(0, this.delay.percentile(99) / 1e6 - 10)
    }
  }
}
