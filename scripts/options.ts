// Writes docs/options.md from the schema that decodes the options; with --check it only says whether the page is true.
import { ConsumerOptions } from "@effect-sqs/core"
import { readFileSync, writeFileSync } from "node:fs"
import path from "node:path"

const page = path.join(import.meta.dirname, "../docs/options.md")
const cell = (text: string) => text.replace(/\|/g, "\\|")
const text = `# Options

Everything has a default: \`Consumer.run(queue, {}, handler)\` is a worker. Durations are Effect's \`DurationInput\`: \`"30 seconds"\`,
\`Duration.minutes(2)\`, or ms as a number. All faults are told at once, before anything is received, in a \`StartError\`.

This table is generated from the schema that decodes the options (\`npm run options\`).

| option | default | meaning |
|---|---|---|
${ConsumerOptions.table.map((o) => `| \`${o.option}\` | ${cell(o.default)} | ${cell(o.description)} |`).join("\n")}

\`drain\` may be a duration alone: that is its \`timeout\`.

Beside these, a consumer takes what is no plain value:

| option | default | meaning |
|---|---|---|
| \`redelivery\` | \`Redelivery.standard\`, on FIFO queues \`Redelivery.fifo\` | from a failure to a settlement; see [Redelivery](redelivery.md) |
| \`policy\` | none | timeouts and in-process retries of one delivery: \`Policy.make\` |
| \`onLeaseLost\` | \`"interrupt"\` | \`"continue"\`: the handler may go on when its lease is lost |
| \`undecodable\` | dead-letter where a dead-letter queue is known, else \`redelivery\` | for bodies that are not what the schema says |
| \`limit\` | none | \`{ of, weight }\`: a \`ConsumerLimit\` that several consumers share |
| \`onEvent\` | none | called with each \`ConsumerEvent\`, beside the consumer |

From the environment: \`ConsumerOptions.config("WORKER")\` reads all options of the first table, each optional, by their path in
capitals: \`concurrency\` is \`WORKER_CONCURRENCY\`, \`lease.extendBy\` is \`WORKER_LEASE_EXTEND_BY\`. A heartbeat is a duration or \`off\`.

## What is held against the real queue

At start the options are compared with what SQS tells of the queue. These are faults, and nothing is received: the queue is of
another kind than its contract says; no \`lease.visibility\` is given and the queue's own is 0, or may not be read; the heartbeat
leaves no time for a beat before the visibility, given or the queue's own, ends ([the rule](lease.md#the-heartbeat)); a receive would
wait longer than the client does; a timeout of \`policy\` is beyond \`lease.limit\`; \`deadLetterQueue\` is the queue itself, of
another kind, or cannot be found. They are told together with the faults of the options themselves.

These are said once, as a warning and in the \`Started\` event: \`maxReceiveCount\` below 3, no dead-letter queue, redeliveries
that take longer than the queue keeps a message, a dead-letter queue that keeps messages for a shorter time than its source, and all that
could not be checked for want of a permission.
`

if (process.argv.includes("--check")) {
  if (readFileSync(page, "utf8") !== text) {
    process.stdout.write("docs/options.md is not what the schema says: npm run options\n")
    process.exit(1)
  }
} else writeFileSync(page, text)
