/** A libSQL client of one file that waits for locks in Effect's time; see `SqliteFile.ts` for why it must be. */
import { createClient, LibsqlError, type Client, type InArgs, type InStatement, type Transaction } from "@libsql/client"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { LedgerStoreError } from "../LedgerError.js"
import { toStoreError } from "./sqlErrors.js"

/** quick at first, for the locks of short transactions */
const waiting = Schedule.exponential("2 millis").pipe(
  Schedule.union(Schedule.spaced("25 millis")),
  Schedule.jitteredWith({ min: 0.5, max: 1 })
)

const isBusy = (error: unknown) => error instanceof LibsqlError && error.code === "SQLITE_BUSY"

const toUrl = (filename: string) => `file:${filename.split("/").map(encodeURIComponent).join("/")}`

/**
 * One call a turn of the event loop. SQLite's calls are synchronous, and what waits for one goes on in the same turn: a
 * process full of jobs would go from call to call without ever letting a timer or a socket have its turn.
 */
class Turns {
  private last: Promise<void> = Promise.resolve()

  next(): Promise<void> {
    this.last = this.last.then(() => new Promise((resolve) => setImmediate(resolve)))
    return this.last
  }
}

/** connections of which each runs one thing at a time; one that was told BUSY is not used again */
class Connections {
  private readonly idle: Array<Client> = []
  private closed = false
  readonly turns = new Turns()
  constructor(private readonly url: string) {}

  async use<A>(f: (connection: Client) => Promise<A>): Promise<A> {
    await this.turns.next()
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
        await this.connections.turns.next()
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
      await this.connections.turns.next()
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
      await this.connections.turns.next()
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

    /** one of those who were told BUSY asks again, the others wait for it: each try costs ms of the event loop */
    const asking = yield* Effect.makeSemaphore(1)

    const patiently: Patiently = async (f, stopped = () => false) => {
      const attempt = Effect.tryPromise({ try: f, catch: (error) => error })
      const result = await run(
        Effect.gen(function* () {
          const startedAt = yield* Clock.currentTimeMillis
          const worthwhile = (error: unknown) =>
            Effect.map(
              Clock.currentTimeMillis,
              (now) => isBusy(error) && !stopped() && now - startedAt < Duration.toMillis(busyTimeout)
            )
          return yield* Effect.catchIf(attempt, isBusy, () =>
            asking.withPermits(1)(Effect.retry(attempt, { schedule: waiting, while: worthwhile }))
          )
        }).pipe(Effect.either)
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
