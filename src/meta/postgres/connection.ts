/**
 * Connections to the primary of a PostgreSQL cluster. Every new one is checked: the server must not be a standby, and
 * it must run with the settings under which a committed transaction is on stable storage.
 */
import pg from 'pg'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { addressesOf } from './address.ts'
import { type OnOutage, OutageNotice, whyOf } from './outage.ts'

const CONNECT_MS = 5_000
/** A server that has vanished without a word is given up after this; another connection then asks for the outcome. */
const QUERY_MS = 15_000
/** How long a call is tried again, or waits for a primary to come back, before it fails. */
const REACH_MS = 30_000
const BACK_OFF_MS_MIN = 20
const BACK_OFF_MS_MAX = 1_000

/**
 * A plan that was made while the table was small would stay with sequential scans and hash joins, so those are off.
 * The statement timeout bounds how long a batch can lie in wait for a lock; it does not touch the commit itself.
 */
const SESSION = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  'default_transaction_isolation=read\\ committed',
  'statement_timeout=10000',
]

/** The server is there, but it must not be used: trying again does not help. */
export class UnfitServer extends Error {
  constructor(why: string) {
    super(`PostgreSQL is not fit to keep metadata: ${why}`)
    this.name = 'UnfitServer'
  }
}

export interface PreparedStatement {
  readonly name: string
  readonly text: string
  readonly values: readonly unknown[]
}

/** Rows as arrays of the texts that the server sent. */
export type PostgresRow = readonly (string | null)[]

const AS_TEXT = { getTypeParser: () => (text: string) => text }

/** By code, not by severity: the word for that is in the server's language. */
const SQLSTATE = /^[0-9A-Z]{5}$/
/** Connection exceptions, shutdowns and crashes, an idle session cut off. */
const ENDS_CONNECTION = /^(08|57P0|25P03)/

/** True when the server said no and goes on: the transaction was rolled back. Everything else leaves it open. */
export function wasRefused(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && SQLSTATE.test(code) && !ENDS_CONNECTION.test(code)
}

export class PostgresConnection {
  readonly #client: pg.Client
  #lost = false

  constructor(client: pg.Client) {
    this.#client = client
    // The server may say goodbye at any moment, with no query under way; without a listener that ends the process.
    client.on('error', () => this.#lose())
    client.on('end', () => {
      this.#lost = true
    })
  }

  get lost(): boolean {
    return this.#lost
  }

  #lose(): void {
    if (this.#lost) return
    this.#lost = true
    this.#client.end().catch(() => {})
  }

  async query({ name, text, values }: PreparedStatement): Promise<readonly PostgresRow[]> {
    try {
      const result = await this.#client.query({
        name,
        text,
        values: values as unknown[],
        rowMode: 'array',
        types: AS_TEXT as unknown as pg.CustomTypesConfig,
      })
      return result.rows as unknown as PostgresRow[]
    } catch (error) {
      if (!wasRefused(error)) this.#lose()
      throw error
    }
  }

  /** Statements without parameters and without an answer. */
  async run(text: string): Promise<void> {
    await this.#client.query(text)
  }

  async end(): Promise<void> {
    if (this.#lost) return
    this.#lost = true
    await this.#client.end().catch(() => {})
  }
}

async function checkServer(connection: PostgresConnection): Promise<void> {
  const text = `SELECT pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit')`
  const [row] = await connection.query({ name: 'check', text, values: [] })
  const [standby, fsync, fullPages, synchronous] = row!
  if (standby !== 'f') throw new Error('the server is a standby')
  if (fsync !== 'on') throw new UnfitServer(`fsync is ${fsync}`)
  if (fullPages !== 'on') throw new UnfitServer(`full_page_writes is ${fullPages}`)
  if (synchronous !== 'on' && synchronous !== 'remote_apply')
    throw new UnfitServer(`synchronous_commit is ${synchronous}`)
}

export interface ClusterOptions {
  readonly url: string
  readonly clock?: Clock
  readonly random?: Random
  /** No server can be used at the moment; the search for one goes on. */
  readonly onWait?: OnOutage | undefined
}

function clientOf(address: string): pg.Client {
  return new pg.Client({
    connectionString: address,
    application_name: 'holdfast',
    options: SESSION.map(setting => `-c ${setting}`).join(' '),
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: QUERY_MS,
    keepAlive: true,
  })
}

/** As the client reads it, which also knows variables of the environment. */
function placeOf(address: string): string {
  const { host, port } = clientOf(address)
  return host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`
}

export class Cluster {
  readonly #addresses: readonly string[]
  readonly #places: string
  readonly #waiting: OutageNotice
  readonly #clock: Clock
  readonly #random: Random
  #closed = false

  constructor(options: ClusterOptions) {
    this.#addresses = addressesOf(options.url)
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#places = this.#addresses.map(placeOf).join(', ')
    const search = { at: this.#places, waitsMsMax: REACH_MS }
    this.#waiting = new OutageNotice(this.#clock, search, options.onWait ?? (() => {}))
  }

  /** Says, when asked later, whether a call that began now has been tried for long enough. */
  patience(): () => boolean {
    const endsAt = this.#clock.elapsed() + REACH_MS
    return () => this.#clock.elapsed() >= endsAt
  }

  /** From now on a search for the primary ends with an error. */
  close(): void {
    this.#closed = true
  }

  /** A connection to the primary; waits for one, with growing pauses, for a bounded time. */
  async connect(): Promise<PostgresConnection> {
    this.#waiting.begin()
    try {
      return await this.#search()
    } finally {
      this.#waiting.end()
    }
  }

  async #search(): Promise<PostgresConnection> {
    const isOver = this.patience()
    for (let pause = BACK_OFF_MS_MIN; ; pause = Math.min(2 * pause, BACK_OFF_MS_MAX)) {
      let failure: unknown
      for (const address of this.#addresses) {
        if (this.#closed) throw new Error('the metadata engine is closed')
        try {
          return await this.#connectTo(address)
        } catch (error) {
          if (error instanceof UnfitServer) throw error
          failure = error
        }
      }
      if (isOver()) {
        const tried = `no PostgreSQL primary can be reached at ${this.#places} for ${REACH_MS / 1000} s`
        throw new Error(`${tried}: ${whyOf(failure)}`, { cause: failure })
      }
      this.#waiting.failed(failure)
      await this.#clock.sleep(pause * (0.5 + this.#random.fraction()))
    }
  }

  async #connectTo(address: string): Promise<PostgresConnection> {
    const client = clientOf(address)
    const connection = new PostgresConnection(client)
    try {
      await client.connect()
      await checkServer(connection)
      return connection
    } catch (error) {
      // Also a connection that failed half-way holds one of the server's places until it is closed.
      await connection.end()
      throw error
    }
  }
}

/** One connection at a time, replaced when it is lost. Its user sees to it that only one statement is under way. */
export class ConnectionLane {
  readonly #cluster: Cluster
  #connection: PostgresConnection | undefined

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  async ready(): Promise<PostgresConnection> {
    if (this.#connection === undefined || this.#connection.lost) this.#connection = await this.#cluster.connect()
    return this.#connection
  }

  async close(): Promise<void> {
    await this.#connection?.end()
  }
}
