/** What the commands on dead letters print. */
import { type DeadLetter, json, textOf } from "../DeadLetter.js"
import type { DiscardReport } from "../DeadLetterDiscard.js"
import type { DeadLetterGroup, DeadLetterList } from "../DeadLetterList.js"
import type { DeadLetterDetail } from "../DeadLetterShow.js"
import type { Screen } from "../Screen.js"
import * as durations from "../Durations.js"
import { count } from "./numbers.js"
import { table, wrap } from "./table.js"

type Look = Screen["Type"]

const cut = (text: string, width: number) => {
  const line = visible(text.replace(/\s+/g, " "))
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`
}

/** Control characters of a body or an attribute must not steer the terminal. */
export const visible = (text: string): string => text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, "\uFFFD")

export const messages = (n: number): string => (n === 1 ? "1 message" : `${count(n)} messages`)

const range = (from: string, to: string) => (from === to ? from : `${from} to ${to}`)

const ages = ({ oldestMs, youngestMs }: DeadLetterGroup) =>
  oldestMs === undefined || youngestMs === undefined ? "?" : range(durations.show(youngestMs), durations.show(oldestMs))

export const notes = (texts: ReadonlyArray<string>, look: Look): ReadonlyArray<string> =>
  texts.flatMap((text) => wrap(`${look.paint("yellow", "!")} ${text}`, look.columns, "  "))

const reasonWidth = (look: Look) => Math.max(24, look.columns - 64)

export const looking = (looked: number, notPutBack: number): string =>
  looked === 0
    ? "Nothing was received."
    : `Looking counted one receive on ${looked === 1 ? "this message" : `each of these ${messages(looked)}`}. ` +
      (notPutBack === 0
        ? `${looked === 1 ? "It is" : "All are"} put back.`
        : `${messages(notPutBack)} could not be put back at once: they come back within two minutes.`)

export const groups = (all: ReadonlyArray<DeadLetterGroup>, look: Look): ReadonlyArray<string> =>
  table(
    [
      ["messages", "reason", "type", "source", "age", "receives", "redriven"],
      ...all.map((g) => [
        count(g.count),
        cut(g.reason, reasonWidth(look)),
        cut(g.type ?? "-", 24),
        cut(g.source ?? "-", 24),
        ages(g),
        range(String(g.receiveCount.min), String(g.receiveCount.max)),
        g.redriven === 0 ? "-" : count(g.redriven)
      ])
    ],
    [0, 5, 6]
  )

export const list = (result: DeadLetterList, withMessages: boolean, look: Look): string => {
  const { looked, matching, queue } = result
  const head =
    looked === 0
      ? `${queue.name}: no messages.`
      : `${queue.name}: ${messages(looked)}${matching === looked ? "" : `, ${count(matching)} of them meant by the filter`}.`
  const lines = withMessages
    ? table(
        [
          ["#", "id", "reason", "type", "source", "age", "receives", "bytes"],
          ...result.messages.map((m) => [
            String(m.index),
            m.messageId,
            cut(m.reasonText ?? m.reason, reasonWidth(look)),
            cut(m.type ?? "-", 24),
            cut(m.source ?? "-", 24),
            m.ageMs === undefined ? "?" : durations.show(m.ageMs),
            String(m.receiveCount),
            count(m.bodyBytes)
          ])
        ],
        [0, 6, 7]
      )
    : groups(result.groups, look)
  return [
    look.paint("bold", head),
    ...(matching === 0 ? [] : ["", ...lines]),
    "",
    ...notes(result.notes, look),
    ...wrap(looking(looked, result.notPutBack), look.columns)
  ].join("\n")
}

export const time = (at: number | undefined): string =>
  at === undefined ? "" : new Date(at).toISOString().replace("T", " ").replace("Z", " UTC")

const bodyOf = (letter: DeadLetter): ReadonlyArray<string> => {
  const tree = json(letter)
  const { body } = letter.message
  const bytes = `${count(Buffer.byteLength(body))} bytes`
  return tree === undefined
    ? [
        `Body, ${bytes}, no JSON`,
        ...visible(body)
          .split("\n")
          .map((line) => `  ${line}`)
      ]
    : [
        `Body, ${bytes} of JSON`,
        ...visible(JSON.stringify(tree, null, 2))
          .split("\n")
          .map((line) => `  ${line}`)
      ]
}

export const detail = ({ history, letter, looked, queue }: DeadLetterDetail, look: Look): string => {
  const { message } = letter
  const facts: ReadonlyArray<readonly [string, string | undefined]> = [
    ["reason", letter.reason],
    ["error", letter.error],
    ["source", letter.source],
    ["type", letter.type],
    ["group", message.groupId],
    ["sequence", message.sequenceNumber],
    ["deduplication", message.deduplicationId],
    ["sender", message.senderId],
    ["trace header", message.traceHeader]
  ]
  const attributes = Object.entries(message.attributes)
  return [
    look.paint("bold", `Message ${letter.messageId} in ${queue}`),
    ...table(facts.flatMap(([name, value]) => (value === undefined ? [] : [[`  ${name}`, visible(value)]]))),
    "",
    "History",
    ...table(history.map(({ at, what }) => [`  ${at === undefined ? "time not recorded" : time(at)}`, visible(what)])),
    "",
    attributes.length === 0 ? "No attributes" : "Attributes",
    ...table(
      attributes.map(([name, a]) => [
        `  ${name}`,
        a.dataType,
        a.binaryValue === undefined
          ? visible(a.stringValue)
          : `${count(a.binaryValue.byteLength)} bytes, base64: ${textOf(a)}`
      ])
    ),
    "",
    ...bodyOf(letter),
    "",
    ...wrap(looking(looked, 0), look.columns)
  ].join("\n")
}

export const discarded = (report: DiscardReport, look: Look): string =>
  [
    look.paint("bold", `${report.queue}: ${messages(report.discarded)} discarded, kept in ${report.keepIn}.`),
    `received ${count(report.received)} = discarded ${count(report.discarded)} + kept ${count(report.kept)} + failed ${count(report.failed)}`,
    ...(report.failed === 0
      ? []
      : wrap(
          `${messages(report.failed)} are in the file, and still in the queue, because their delete was not confirmed: run it again.`,
          look.columns
        )),
    ...(report.stopped === undefined ? [] : wrap(`Stopped: ${report.stopped}`, look.columns))
  ].join("\n")
