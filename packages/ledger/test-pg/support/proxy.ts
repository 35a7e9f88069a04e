/** A door in front of the server that loses answers: the statement is carried out, and its connection cut. */
import { Effect } from "effect"
import * as net from "node:net"

export interface Proxy {
  readonly url: string
  /** the connection of the next statement with this text in it is cut when its answer comes */
  readonly cut: (statement: string) => void
  readonly cuts: () => number
}

export const proxy = (target: string) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: net.Server; readonly proxy: Proxy }>((resume) => {
      const url = new URL(target)
      let next: string | undefined
      let cuts = 0
      const server = net.createServer((client) => {
        const upstream = net.connect(Number(url.port), url.hostname)
        let doomed = false
        const close = () => {
          client.destroy()
          upstream.destroy()
        }
        for (const socket of [client, upstream]) socket.on("error", close).on("close", close)
        client.on("data", (data) => {
          if (next !== undefined && data.includes(next)) {
            doomed = true
            next = undefined
          }
          upstream.write(data)
        })
        upstream.on("data", (data) => {
          if (!doomed) return void client.write(data)
          cuts++
          close()
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const through = new URL(target)
        through.hostname = "127.0.0.1"
        through.port = String((server.address() as net.AddressInfo).port)
        const cut = (statement: string) => void (next = statement)
        resume(Effect.succeed({ server, proxy: { url: through.toString(), cut, cuts: () => cuts } }))
      })
    }),
    ({ server }) => Effect.sync(() => server.close())
  ).pipe(Effect.map((made) => made.proxy))
