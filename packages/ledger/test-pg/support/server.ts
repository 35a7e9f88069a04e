/** A PostgreSQL server for tests: thrown away afterwards, so nothing is synced to disk. */
import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as os from "node:os"
import * as path from "node:path"

export interface Server {
  readonly url: string
  /** as after a crash: all connections are cut, what was committed is there again; only of a server of our own */
  readonly restart: () => void
  readonly stop: () => void
}

/** where Debian, and most others, put the server's programs */
const installations = () => {
  const roots = ["/usr/lib/postgresql", "/usr/local/lib/postgresql", "/opt/homebrew/opt"]
  const found = roots.flatMap((root) => {
    try {
      return fs.readdirSync(root).map((version) => path.join(root, version, "bin"))
    } catch {
      return []
    }
  })
  return [...found.sort().reverse(), "/usr/bin", "/usr/local/bin"].filter((bin) =>
    fs.existsSync(path.join(bin, "initdb"))
  )
}

/** a port that is free now; the server is the next to take it */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = net.createServer()
    server.on("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as net.AddressInfo
      server.close(() => resolve(port))
    })
  })

/** PostgreSQL refuses to run as root: then it runs as the user that its package made */
const asServerUser = (program: string, args: ReadonlyArray<string>, inherit = false) => {
  const env = { PATH: process.env.PATH ?? "", LC_ALL: "C.UTF-8" }
  const isRoot = process.getuid?.() === 0
  const [command, all] = isRoot
    ? ["setpriv", ["--reuid=postgres", "--regid=postgres", "--clear-groups", program, ...args]]
    : [program, [...args]]
  // pg_ctl leaves the server behind with its own handles: a pipe would never end
  return execFileSync(command, all, { env, cwd: "/", stdio: inherit ? "ignore" : "pipe", encoding: "utf8" })
}

/** The server that LEDGER_PG_URL names, or one of our own. */
export const start = async (): Promise<Server> => {
  const given = process.env.LEDGER_PG_URL
  if (given !== undefined && given !== "") {
    const restart = () => {
      throw new Error("LEDGER_PG_URL names a server that is not ours to restart: leave it unset")
    }
    return { url: given, restart, stop: () => {} }
  }
  const bin = installations()[0]
  if (bin === undefined) {
    throw new Error(
      "These tests need PostgreSQL: set LEDGER_PG_URL to a database that they may fill, or install a server " +
        "(on Debian: apt-get install postgresql)."
    )
  }
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "effect-sqs-pg-"))
  if (process.getuid?.() === 0) execFileSync("chown", ["postgres:postgres", folder])
  const data = path.join(folder, "data")
  const port = await freePort()
  asServerUser(path.join(bin, "initdb"), [
    ...["-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "--no-instructions", "-E", "UTF8", "--locale=C.UTF-8"]
  ])
  const settings = [
    `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c max_connections=200`,
    // a commit is handed to the operating system: it survives the death of the server, not that of the machine
    "-c fsync=off -c full_page_writes=off -c deadlock_timeout=200ms"
  ].join(" ")
  const control = (...args: ReadonlyArray<string>) =>
    asServerUser(path.join(bin, "pg_ctl"), ["-D", data, "-w", "-t", "30", ...args], true)
  const options = ["-l", path.join(folder, "log"), "-o", settings]
  control(...options, "start")
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    restart: () => control(...options, "-m", "immediate", "restart"),
    stop: () => {
      try {
        control("-m", "immediate", "stop")
      } catch {
        // it is gone already
      }
      fs.rmSync(folder, { recursive: true, force: true })
    }
  }
}
