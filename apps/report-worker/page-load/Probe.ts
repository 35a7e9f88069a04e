/**
 * What looks at the page from inside. It is put into it before its own script, by the browser, and changes nothing that the page
 * does: it notes when an event arrives, when what it tells is in the document and when that is on the screen, and tasks that are
 * long.
 */
import type { Page } from "playwright-core"

export interface Noted {
  /** by the number of the change: when the page was given the event, epoch ms */
  readonly arrived: ReadonlyArray<readonly [seq: number, at: number]>
  /** by job and number of beats: when the timeline had it, and when it was painted; `inSight`: since when its row is */
  readonly beats: ReadonlyArray<readonly [beat: string, inDocument: number, painted: number, inSight: number]>
  /** by job: when its row told that it is completed */
  readonly finished: ReadonlyArray<readonly [jobId: string, at: number]>
  /** as the browser reports them, from 50 ms on */
  readonly longTasks: ReadonlyArray<{ readonly ms: number; readonly what: string }>
}

const script = `{
  const noted = { arrived: [], beats: [], finished: [], longTasks: [] }
  globalThis.noted = noted
  globalThis.EventSource = class extends EventSource {
    addEventListener(kind, listener, options) {
      super.addEventListener(kind, (event) => {
        if (kind === "lease") noted.arrived.push([Number(event.lastEventId.split("-")[1]), Date.now()])
        listener(event)
      }, options)
    }
  }
  new PerformanceObserver((list) => {
    for (const { attribution, duration } of list.getEntries()) {
      noted.longTasks.push({ ms: duration, what: attribution.map((a) => a.name + " " + a.containerType).join(", ") })
    }
  }).observe({ type: "longtask" })
  const afterPaint = (then) => requestAnimationFrame(() => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = then
    port2.postMessage(undefined)
  })
  // the page lets rows that nobody sees follow later
  const inSight = new Map()
  const sight = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) inSight.set(target, isIntersecting ? Date.now() : Infinity)
  })
  const seen = new Set()
  const onBeat = (small, found) => {
    const beats = /beat/.test(small.textContent) ? /(\\d+)\\D*$/.exec(small.textContent) : null
    const row = small.closest("li")
    if (!inSight.has(row)) {
      inSight.set(row, Infinity)
      sight.observe(row)
    }
    const since = inSight.get(row)
    if (beats === null || since === Infinity) return
    const beat = small.parentElement.firstElementChild.textContent + " " + beats[1]
    if (!seen.has(beat)) found.push([beat, Date.now(), since])
    seen.add(beat)
  }
  const onRow = (row) => {
    if (row.querySelector(".chip.completed") !== null) {
      noted.finished.push([row.querySelector("th").textContent, Date.now()])
    }
  }
  new MutationObserver((mutations) => {
    const found = []
    const smalls = new Set()
    const rows = new Set()
    for (const { addedNodes, target } of mutations) {
      const element = target.nodeType === 1 ? target : target.parentElement
      const small = element?.closest(".lease:not(.over) .who small")
      if (small) smalls.add(small)
      const row = element?.closest("tbody tr")
      if (row) rows.add(row)
      for (const node of addedNodes) if (node.nodeName === "TR") rows.add(node)
    }
    for (const small of smalls) onBeat(small, found)
    for (const row of rows) onRow(row)
    if (found.length > 0) afterPaint(() => {
      const painted = Date.now()
      for (const [beat, at, since] of found) noted.beats.push([beat, at, painted, since])
    })
  }).observe(document, { subtree: true, childList: true, characterData: true, attributes: true, attributeFilter: ["class"] })
}`

export const put = (page: Page) => page.addInitScript(script)

/** forgets what was noted so far */
export const clear = (page: Page) =>
  page.evaluate("for (const list of Object.values(noted)) list.length = 0").then(() => undefined)

export const read = (page: Page) => page.evaluate<Noted>("noted")
