/** Another process that keeps a file's write lock half of the time: `busy.ts FILE`. */
import { createClient } from "@libsql/client"

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const client = createClient({ url: `file:${process.argv[2]}`, concurrency: 1 })
let said = false
for (;;) {
  try {
    const transaction = await client.transaction("write")
    await pause(100)
    await transaction.rollback()
    if (!said) process.stdout.write("busy\n")
    said = true
  } catch {
    // the others hold it
    client.close()
    await client.reconnect()
  }
  await pause(100)
}
