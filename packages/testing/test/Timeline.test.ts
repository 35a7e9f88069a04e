import { assert, describe, it } from "@effect/vitest"
import { JournalQuery, Timeline } from "@effect-sqs/testing"
import * as FastCheck from "effect/FastCheck"
import { Builder, failed, refused } from "./journalBuilder.js"

const lifeOf = (b: Builder, id = "m") => JournalQuery.read(b.entries).messages.get(id)!

const eventful = () =>
  new Builder()
    .sent("m")
    .at(10)
    .receive(["m"], 30, { takes: 0.2 })
    .start("m#1")
    .at(25)
    .change("m#1", 30)
    .at(40)
    .change("m#1", 30, { outcome: failed("ServiceUnavailable", "try later") })
    .at(54)
    .end("m#1", "interrupted")
    .at(60)
    .receive(["m"], 30)
    .start("m#2")
    .at(65)
    .end("m#2", "failure", "no data")
    .change("m#2", 15)
    .at(80)
    .receive(["m"], 30)
    .start("m#3")
    .at(90)
    .end("m#3")
    .delete("m#3", { outcome: refused("InternalError") })
    .at(100)
    .delete("m#3")

describe("Timeline: text", () => {
  it("draws leases, beats, runs and settlements to scale, and tells each in a line", () => {
    assert.strictEqual(
      Timeline.text(lifeOf(eventful()), { width: 51 }),
      [
        "message m · queue jobs · 2026-01-01T00:00:00.000Z",
        "              0              30 s           60 s           90 s",
        "delivery 1         R───────b──────x───────!",
        "  run              ══════════════════════■",
        "delivery 2                                  R──r·······",
        "  run                                       ═══✗",
        "delivery 3                                            R────d────D",
        "  run                                                 ═════✓",
        "  R received  b beat  x beat without effect  D deleted  r released  d delete without effect  ! lease ran out",
        "  run: ✓ success  ✗ failure  ‼ defect  ■ interrupted  → goes on",
        "    +0.000 s  sent to jobs",
        "   +10.000 s  delivery 1: received, receive count 1, hidden until +40.000 s, arrived +10.200 s",
        "   +10.000 s  delivery 1: run starts",
        "   +25.000 s  delivery 1: beat, 30 s: hidden until +55.000 s",
        "   +40.000 s  delivery 1: beat, 30 s: failed, ServiceUnavailable: try later",
        "   +54.000 s  delivery 1: run ends, interrupted",
        "   +55.000 s  delivery 1: the lease ran out",
        "   +60.000 s  delivery 2: received, receive count 2, hidden until +90.000 s",
        "   +60.000 s  delivery 2: run starts",
        "   +65.000 s  delivery 2: run ends, failure: no data",
        "   +65.000 s  delivery 2: release after 15 s: hidden until +80.000 s",
        "   +80.000 s  delivery 3: received, receive count 3, hidden until +110.000 s",
        "   +80.000 s  delivery 3: run starts",
        "   +90.000 s  delivery 3: run ends, success",
        "   +90.000 s  delivery 3: delete: refused, InternalError: by hand",
        "  +100.000 s  delivery 3: delete",
        "  +100.000 s  deleted: gone from jobs"
      ].join("\n")
    )
  })

  it("tells what never arrived, what goes on, and what SQS moved away", () => {
    const lost = new Builder()
      .sent("m")
      .receive(["m"], 30, { outcome: { _tag: "Lost" }, effect: true })
      .at(31)
    const text = Timeline.text(
      lifeOf(lost.receive(["m"], 30).start("m#2").at(40).change("m#2", 30, { outcome: "open" }))
    )
    assert.include(text, "delivery 1: received, receive count 1, hidden until +30.000 s, the answer never arrived")
    assert.include(text, "delivery 2: beat, 30 s, no answer")
    assert.match(text, /run +═+→\n/)
    const dead = new Builder().sent("m").receive(["m"], 30).at(31).deadLettered("m")
    assert.include(Timeline.text(lifeOf(dead)), "+31.000 s  moved to dead by SQS, after 1 receive")
  })
})

describe("Timeline: SVG", () => {
  const count = (svg: string, part: string) => svg.split(part).length - 1

  it("has a mark with a title for each beat, run and settlement", () => {
    const svg = Timeline.svg(lifeOf(eventful()), { theme: "light" })
    for (const title of [
      "beat 30 s at 25 s: done",
      "beat 30 s at 40 s: failed",
      "the lease ran out",
      "run from 60 s, failure: no data",
      "release done at 65 s",
      "delete refused at 90 s",
      "delete done at 100 s"
    ]) {
      assert.isAtLeast(count(svg, `<title>${title}</title>`), 1, title)
    }
    assert.strictEqual(count(svg, "receive count"), 3)
  })

  it("follows the viewer's preference unless a theme is given", () => {
    const life = lifeOf(eventful())
    assert.strictEqual(count(Timeline.svg(life), "prefers-color-scheme:dark"), 1)
    assert.strictEqual(count(Timeline.svg(life, { theme: "dark" }), "prefers-color-scheme"), 0)
    assert.notStrictEqual(Timeline.svg(life, { theme: "dark" }), Timeline.svg(life, { theme: "light" }))
  })

  it("escapes what comes from outside", () => {
    const b = new Builder(`<&">`).sent("<m>").receive(["<m>"], 30).start("<m>#1").end("<m>#1", "failure", "a < b & c")
    const svg = Timeline.svg(lifeOf(b, "<m>"))
    assert.include(svg, "Message &lt;m&gt; in &lt;&amp;&quot;&gt;")
    assert.include(svg, "failure: a &lt; b &amp; c")
    assert.isTrue(isBalanced(svg))
  })
})

/** every tag that opens closes, in order; no stray `<` or bare `&` */
const isBalanced = (xml: string): boolean => {
  const open: Array<string> = []
  for (const [, close, name, empty] of xml.matchAll(/<(\/?)([a-z]+)(?:\s[^<>]*?)?(\/?)>/g)) {
    if (close === "/" && open.pop() !== name) return false
    if (close === "" && empty === "") open.push(name!)
  }
  const rest = xml.replace(/<\/?[a-z]+(?:\s[^<>]*?)?\/?>/g, "").replace(/<style>.*<\/style>/g, "")
  return open.length === 0 && !/[<]|&(?!amp;|lt;|gt;|quot;)/.test(rest)
}

/** any course of steps at any times, sensible or not */
const anyLife = FastCheck.array(
  FastCheck.record({
    step: FastCheck.constantFrom("receive", "beat", "refused", "open", "delete", "release", "start", "end", "dead"),
    after: FastCheck.integer({ min: 0, max: 50_000 }),
    seconds: FastCheck.integer({ min: 0, max: 43_200 })
  }),
  { maxLength: 30 }
).map((steps) => {
  const b = new Builder().sent("m")
  let now = 0
  let handle = "m#0"
  let received = 0
  for (const { after, seconds, step } of steps) {
    b.at((now += after / 10))
    if (step === "receive") {
      b.receive(["m"], seconds)
      handle = `m#${++received}`
    } else if (step === "beat") b.change(handle, seconds)
    else if (step === "refused") b.change(handle, seconds, { outcome: refused("InternalError") })
    else if (step === "open") b.change(handle, seconds, { outcome: "open" })
    else if (step === "delete") b.delete(handle)
    else if (step === "release") b.change(handle, 0)
    else if (step === "start") b.start(handle)
    else if (step === "end") b.end(handle)
    else b.deadLettered("m")
  }
  return lifeOf(b)
})

describe("Timeline: any life", () => {
  it("is drawn inside its width, by finite numbers, as well-formed SVG", () => {
    FastCheck.assert(
      FastCheck.property(anyLife, FastCheck.integer({ min: 20, max: 100 }), (life, width) => {
        const lanes = Timeline.text(life, { width })
          .split("\n")
          .filter((line) => /^(delivery \d+ | {2}run )/.test(line) && !line.includes(":"))
        assert.isTrue(lanes.every((line) => line.length <= 14 + width))
        const svg = Timeline.svg(life)
        assert.notMatch(svg, /NaN|Infinity|undefined/)
        assert.isTrue(isBalanced(svg))
      })
    )
  })
})
