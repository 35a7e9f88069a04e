/**
 * What the HTTP server costs: CPU seconds of its process per 10,000 messages (receive 10, delete batch 10, 450-byte bodies,
 * loaded before), with `--journal` as given, and its memory over a million messages sent, received and deleted.
 *
 *   node --conditions=@effect-sqs/source --import tsx packages/testing/bench/server.ts [--journal 1000] [--messages 50000] [--memory]
 */
import { spawn } from "node:child_process"
import { readFileSync } from "node:fs"
import { Agent, request } from "node:http"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    journal: { type: "string", default: "1000" },
    messages: { type: "string", default: "50000" },
    memory: { type: "boolean", default: false }
  }
})

const bin = new URL("../src/bin/sqs.ts", import.meta.url).pathname
const agent = new Agent({ keepAlive: true, maxSockets: 8 })

const startServer = async (args: ReadonlyArray<string>) => {
  const child = spawn(
    process.execPath,
    ["--conditions=@effect-sqs/source", "--import", "tsx", bin, "--port", "0", "--journal", values.journal, ...args],
    { stdio: ["ignore", "pipe", "inherit"] }
  )
  const url = await new Promise<URL>((resolve) => {
    child.stdout.on("data", (text: Buffer) => {
      const found = /http:\/\/\S+?:\d+/.exec(String(text))
      if (found !== null) resolve(new URL(found[0]))
    })
  })
  return { child, pid: child.pid!, port: Number(url.port) }
}

/** User and system time of a process so far, in s. */
const cpuSeconds = (pid: number): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ")
  return (Number(fields[11]) + Number(fields[12])) / 100
}
const residentMib = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

const call = (port: number, operation: string, input: object): Promise<any> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify(input)
    const req = request(
      {
        agent,
        port,
        host: "127.0.0.1",
        method: "POST",
        path: "/",
        headers: {
          "content-type": "application/x-amz-json-1.0",
          "x-amz-target": `AmazonSQS.${operation}`,
          "content-length": Buffer.byteLength(body)
        }
      },
      (res) => {
        const chunks: Array<Buffer> = []
        res.on("data", (chunk: Buffer) => chunks.push(chunk))
        res.on("end", () => resolve(JSON.parse(Buffer.concat(chunks).toString())))
      }
    )
    req.on("error", reject)
    req.end(body)
  })

const body = "x".repeat(450)
const QueueUrl = "http://127.0.0.1/000000000000/jobs"
const tens = async (n: number, f: (i: number) => Promise<void>) => {
  let next = 0
  const lane = async () => {
    while (next < n / 10) await f(next++)
  }
  await Promise.all(Array.from({ length: 8 }, lane))
}
const load = (port: number, n: number) =>
  tens(n, async () => {
    const Entries = Array.from({ length: 10 }, (_, i) => ({ Id: String(i), MessageBody: body }))
    await call(port, "SendMessageBatch", { QueueUrl, Entries })
  })
const consume = (port: number, n: number) =>
  tens(n, async () => {
    const { Messages } = await call(port, "ReceiveMessage", {
      QueueUrl,
      MaxNumberOfMessages: 10,
      MessageSystemAttributeNames: ["All"],
      MessageAttributeNames: ["All"]
    })
    const Entries = Messages.map((m: any, i: number) => ({ Id: String(i), ReceiptHandle: m.ReceiptHandle }))
    await call(port, "DeleteMessageBatch", { QueueUrl, Entries })
  })
const say = (text: string) => process.stdout.write(`${text}\n`)

const server = await startServer(["--queue", "jobs"])
try {
  if (values.memory) {
    for (let round = 0; round <= 10; round++) {
      if (round > 0) {
        await load(server.port, 100_000)
        await consume(server.port, 100_000)
      }
      say(`${round * 100_000} messages: ${residentMib(server.pid).toFixed(0)} MiB resident`)
    }
  } else {
    const n = Number(values.messages)
    for (let round = 0; round < 3; round++) {
      const idle = cpuSeconds(server.pid)
      await load(server.port, n)
      const loaded = cpuSeconds(server.pid)
      await consume(server.port, n)
      const consumed = cpuSeconds(server.pid)
      const per = (from: number, to: number) => ((to - from) / (n / 10_000)).toFixed(3)
      say(`CPU s per 10,000: send ${per(idle, loaded)}, receive and delete ${per(loaded, consumed)}`)
    }
  }
} finally {
  server.child.kill("SIGTERM")
  agent.destroy()
}
