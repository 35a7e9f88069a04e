/** A libSQL client of one file that waits for locks in Effect's time; see `SqliteFile.ts` for why it must be. */
import { createClient, LibsqlError, type Client, type InArgs, type InStatement, type Transaction } from "@libsql/client"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { LedgerStoreError } from "../LedgerError.js"
import { toStoreError } from "./sqlErrors.js"

/** quick at first, for the locks of short transactions; then sparing: each try costs a millisecond of the event loop */
const waiting = Schedule.exponential("2 millis").pipe(
  Schedule.union(Schedule.spaced("50 millis")),
  Schedule.jitteredWith({ min: 0.5, max: 1 })
)

const isBusy = (error: unknown) => error instanceof LibsqlError && error.code === "SQLITE_BUSY"

const toUrl = (filename: string) => `file:${filename.split("/").map(encodeURIComponent).join("/")}`

/** connections of which each runs one thing at a time; one that was told BUSY is not used again */
class Connections {
  private readonly idle: Array<Client> = []
  private closed = false
  constructor(private readonly url: string) {}

  async use<A>(f: (connection: Client) => Promise<A>): Promise<A> {
    const connection = this.take()
    try {
      const a = await f(connection)
      this.giveBack(connection)
      return a
    } catch (error) {
      this.giveBack(connection, isBusy(error))
      throw error
    }
  }

  take(): Client {
    if (this.closed) throw new LibsqlError("The client is closed", "CLIENT_CLOSED")
    return this.idle.pop() ?? createClient({ url: this.url, concurrency: 1 })
  }

  giveBack(connection: Client, broken = false) {
    if (broken || this.closed) connection.close()
    else this.idle.push(connection)
  }

  close() {
    this.closed = true
    for (const connection of this.idle.splice(0)) connection.close()
  }
}

/** does it, waiting while the file is busy */
type Patiently = <A>(f: () => Promise<A>, stopped?: () => boolean) => Promise<A>

/**
 * Begins with its first statement. Its calls run one after another; after `rollback` or `commit` none runs any more, also
 * none that was still waiting: whoever was interrupted while it waited must not write later.
 */
class LazyTransaction {
  private connection: Client | undefined
  private open: Transaction | undefined
  private over = false
  /** a statement was told BUSY: the connection is not used again */
  private broken = false
  private last: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly connections: Connections,
    private readonly patiently: Patiently
  ) {}

  get closed() {
    return this.over
  }

  private inTurn<A>(f: () => Promise<A>): Promise<A> {
    const turn = this.last.then(f)
    this.last = turn.catch(() => undefined)
    return turn
  }

  private async begin(): Promise<Transaction> {
    if (this.over) throw new LibsqlError("The transaction is closed", "TRANSACTION_CLOSED")
    if (this.open !== undefined) return this.open
    const begun = await this.patiently(
      async () => {
        const connection = this.connections.take()
        try {
          return { connection, transaction: await connection.transaction("write") }
        } catch (error) {
          this.connections.giveBack(connection, true)
          throw error
        }
      },
      () => this.over
    )
    this.connection = begun.connection
    this.open = begun.transaction
    if (this.over) throw new LibsqlError("The transaction is closed", "TRANSACTION_CLOSED")
    return this.open
  }

  execute(statement: InStatement): Promise<Awaited<ReturnType<Transaction["execute"]>>> {
    return this.inTurn(async () => {
      const open = await this.begin()
      try {
        return await open.execute(statement)
      } catch (error) {
        this.broken ||= isBusy(error)
        throw error
      }
    })
  }

  private settle(how: (transaction: Transaction) => Promise<void>): Promise<void> {
    return this.inTurn(async () => {
      const { connection, open } = this
      this.connection = undefined
      this.open = undefined
      if (connection === undefined || open === undefined) return
      try {
        await how(open)
        this.connections.giveBack(connection, this.broken)
      } catch (error) {
        this.connections.giveBack(connection, true)
        throw error
      }
    })
  }

  async commit(): Promise<void> {
    await this.settle((transaction) => transaction.commit())
    this.over = true
  }

  async rollback(): Promise<void> {
    this.over = true
    await this.settle((transaction) => transaction.rollback())
  }
}

const unsupported = (name: string) => () =>
  Promise.reject(new LibsqlError(`${name} is not supported by SqliteFile`, "UNSUPPORTED"))

/** Opens the file, sets it to WAL (readers and the writer do not stand in each other's way), and closes with the scope. */
export const make = (
  filename: string,
  busyTimeout: Duration.Duration
): Effect.Effect<Client, LedgerStoreError, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Runtime.runPromise(yield* Effect.runtime<never>())
    const connections = yield* Effect.acquireRelease(
      Effect.sync(() => new Connections(toUrl(filename))),
      (open) => Effect.sync(() => open.close())
    )

    const patiently: Patiently = async (f, stopped = () => false) => {
      const result = await run(
        Effect.tryPromise({ try: f, catch: (error) => error }).pipe(
          Effect.retry({
            schedule: Schedule.upTo(waiting, busyTimeout),
            while: (error) => isBusy(error) && !stopped()
          }),
          Effect.either
        )
      )
      if (result._tag === "Left") throw result.left
      return result.right
    }

    const client: Client = {
      execute: (statement: InStatement, args?: InArgs) =>
        patiently(() =>
          connections.use((connection) =>
            connection.execute(typeof statement === "string" ? { sql: statement, args: args ?? [] } : statement)
          )
        ),
      transaction: () => Promise.resolve(new LazyTransaction(connections, patiently) as never as Transaction),
      batch: unsupported("batch"),
      migrate: unsupported("migrate"),
      executeMultiple: unsupported("executeMultiple"),
      sync: unsupported("sync"),
      reconnect: unsupported("reconnect") as never,
      close: () => connections.close(),
      closed: false,
      protocol: "file"
    }

    yield* Effect.tryPromise({
      try: () => client.execute("PRAGMA journal_mode = WAL"),
      catch: toStoreError(`open ${filename}`)
    })
    return client
  })
