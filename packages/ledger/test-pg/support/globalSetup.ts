import { start } from "./server.js"

export default async () => {
  const server = await start()
  process.env.LEDGER_PG_URL = server.url
  return server.stop
}
