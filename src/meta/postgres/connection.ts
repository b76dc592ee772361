/**
 * Connections to the primary of a PostgreSQL cluster. Each new one is checked: the server must not be a standby, and
 * its settings must guarantee that committed transactions are on stable storage.
 */
import pg from 'pg'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { addressesOf } from './address.ts'
import { divertRows } from './divert-rows.ts'
import { Execution, type PgConnection, type PreparedStatement, type RowTarget } from './execution.ts'
import { PostgresFigures } from './figures.ts'
import { type OnOutage, OutageNotice, whyOf } from './outage.ts'
import type { RowReader } from './row-reader.ts'

const CONNECT_MS = 5_000
/** A silent server is given up after this; another connection then asks for the outcome. */
const QUERY_MS = 15_000
/** Reads are short and can be repeated at once. */
export const READ_MS = 5_000
/** How long a call is retried, or waits for a primary, before it fails. */
export const REACH_MS = 30_000
const BACK_OFF_MS_MIN = 20
const BACK_OFF_MS_MAX = 1_000

/**
 * A plan made while the table was small would keep sequential scans and hash joins, so those are disabled. The
 * statement timeout bounds how long a batch waits for a lock; it does not affect the commit itself.
 */
const SESSION = [
  'plan_cache_mode=force_generic_plan',
  'enable_seqscan=off',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'jit=off',
  // The rows of a UNION ALL arrive in the order of its parts.
  'max_parallel_workers_per_gather=0',
  'default_transaction_isolation=read\\ committed',
  'statement_timeout=10000',
]

/** The server is reachable but must not be used; retrying does not help. */
export class UnfitServer extends Error {
  constructor(why: string) {
    super(`PostgreSQL cannot be used for metadata: ${why}`)
    this.name = 'UnfitServer'
  }
}

/** Errors that are unrelated to the statement: deadlock, serialization, timeouts. */
export const TRANSIENT: ReadonlySet<string> = new Set(['40001', '40P01', '55P03', '57014'])
/** By code, since severities are localized: connection exceptions, shutdowns, crashes, idle session timeouts. */
const ENDS_CONNECTION = /^(08|57P0|25P03)/

/**
 * True when the server reported an error and continues: the transaction was rolled back. After any other error its
 * outcome is open. Errors of a socket have codes, too: EPIPE looks like one of the server's.
 */
export const wasRefused = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code !== undefined && !ENDS_CONNECTION.test(error.code)

export class PostgresConnection {
  readonly #client: pg.Client
  readonly #rows: RowTarget
  #lost = false
  /** Increases with every promotion of a standby; 0 until the server was checked. */
  timeline = 0

  constructor(client: pg.Client) {
    this.#client = client
    this.#rows = divertRows(client.connection as unknown as PgConnection)
    // The server may close an idle connection at any time; without a listener that would end the process.
    client.on('error', () => this.lose())
    client.on('end', () => {
      this.#lost = true
    })
  }

  get lost(): boolean {
    return this.#lost
  }

  /** Closes without a Terminate message, which a hanging server would not process. */
  lose(): void {
    if (this.#lost) return
    this.#lost = true
    this.#client.end().catch(() => {})
    this.#client.connection.stream.destroy()
  }

  query<T>(statement: PreparedStatement<T>): Promise<readonly T[]> {
    return new Promise((resolve, reject) => {
      const execution = new Execution(statement, this.#rows, (error, rows) => {
        if (rows !== undefined) return resolve(rows)
        if (!wasRefused(error)) this.lose()
        reject(error)
      })
      this.#client.query(execution as unknown as pg.Submittable)
    })
  }

  /** Statements without parameters, whose rows are ignored. */
  async run(text: string): Promise<void> {
    await this.query({ name: '', text, values: [], decode: () => undefined })
  }

  async end(): Promise<void> {
    if (this.#lost) return
    this.#lost = true
    await this.#client.end().catch(() => {})
  }
}

interface ServerFacts {
  readonly standby: boolean
  readonly fsync: string
  readonly fullPages: string
  readonly synchronous: string
  readonly walFile: string
}

/** Returns the server's timeline. */
async function checkServer(connection: PostgresConnection): Promise<number> {
  const text = `SELECT pg_is_in_recovery(), current_setting('fsync'), current_setting('full_page_writes'),
    current_setting('synchronous_commit'),
    CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_lsn()) END`
  const decode = (row: RowReader): ServerFacts => ({
    standby: row.boolean(),
    fsync: row.text(),
    fullPages: row.text(),
    synchronous: row.text(),
    walFile: row.skipNull() ? '' : row.text(),
  })
  const [facts] = await connection.query({ name: 'check', text, values: [], timeoutMs: READ_MS, decode })
  const { standby, fsync, fullPages, synchronous, walFile } = facts!
  if (standby) throw new Error('the server is a standby')
  if (fsync !== 'on') throw new UnfitServer(`fsync is ${fsync}`)
  if (fullPages !== 'on') throw new UnfitServer(`full_page_writes is ${fullPages}`)
  if (synchronous !== 'on' && synchronous !== 'remote_apply')
    throw new UnfitServer(`synchronous_commit is ${synchronous}`)
  return Number.parseInt(walFile.slice(0, 8), 16)
}

interface ClusterOptions {
  readonly url: string
  readonly clock?: Clock
  readonly random?: Random
  /** Called while no server is usable; the search continues. */
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

/** As parsed by the client, which also reads environment variables. */
export function hostAndPort(address: string): string {
  const { host, port } = clientOf(address)
  return host.startsWith('/') ? host : `${host.includes(':') ? `[${host}]` : host}:${port}`
}

export class Cluster {
  readonly #addresses: readonly string[]
  readonly #hosts: string
  readonly #outage: OutageNotice
  readonly #clock: Clock
  readonly #random: Random
  readonly #open = new Set<PostgresConnection>()
  readonly figures = new PostgresFigures(() => [...this.#open].filter(connection => !connection.lost).length)
  /** The newest timeline seen; 0 before the first connection. */
  #timeline = 0
  #closed = false

  constructor(options: ClusterOptions) {
    this.#addresses = addressesOf(options.url)
    this.#clock = options.clock ?? systemClock
    this.#random = options.random ?? systemRandom
    this.#hosts = this.#addresses.map(hostAndPort).join(', ')
    const search = { at: this.#hosts, waitsMsMax: REACH_MS }
    this.#outage = new OutageNotice(this.#clock, search, options.onWait ?? (() => {}))
  }

  /** Starts the time limit of a call; the result says whether it has expired. */
  patience(): () => boolean {
    const endsAt = this.#clock.elapsed() + REACH_MS
    return () => this.#clock.elapsed() >= endsAt
  }

  get clock(): Clock {
    return this.#clock
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Makes a running search for the primary fail. */
  close(): void {
    this.#closed = true
  }

  /** A connection to the primary; retries with growing pauses for a bounded time. */
  async connect(): Promise<PostgresConnection> {
    this.#outage.begin()
    this.figures.connectionsWanted++
    try {
      return await this.#search()
    } finally {
      this.figures.connectionsWanted--
      this.#outage.end()
    }
  }

  async #search(): Promise<PostgresConnection> {
    const hasTimedOut = this.patience()
    for (let pause = BACK_OFF_MS_MIN; ; pause = Math.min(2 * pause, BACK_OFF_MS_MAX)) {
      const found = await this.#tryAll()
      if (found instanceof PostgresConnection) return found
      const unfit = found.find(error => error instanceof UnfitServer)
      if (unfit !== undefined) throw unfit
      const failure = found.at(-1)
      this.figures.failedSearches++
      if (hasTimedOut()) {
        const tried = `no PostgreSQL primary can be reached at ${this.#hosts} for ${REACH_MS / 1000} s`
        throw new EngineUnavailable(`${tried}: ${whyOf(failure)}`, failure)
      }
      this.#outage.failed(failure)
      await this.#clock.sleep(pause * (0.5 + this.#random.fraction()))
    }
  }

  /**
   * All addresses at once, so that a hanging server delays no caller; the errors when none is the primary. A process
   * that knows no timeline yet waits for every server and takes the newest.
   */
  async #tryAll(): Promise<PostgresConnection | readonly unknown[]> {
    if (this.#closed) throw new Error('the metadata engine is closed')
    const attempts = this.#addresses.map(address => this.#connectTo(address))
    if (this.#timeline === 0) await Promise.allSettled(attempts)
    const accepted = attempts.map(async attempt => this.#accept(await attempt))
    try {
      const first = await Promise.any(accepted)
      const endUnlessFirst = (connection: PostgresConnection): void => {
        if (connection !== first) void connection.end()
      }
      for (const other of accepted) other.then(endUnlessFirst, () => {})
      this.figures.connects++
      return first
    } catch (error) {
      return (error as AggregateError).errors
    }
  }

  /**
   * A former primary that was not stopped still answers, and would return what was true before the failover. Once a
   * newer timeline is known, older ones are not used and their connections are closed.
   */
  #accept(connection: PostgresConnection): PostgresConnection {
    if (connection.timeline < this.#timeline) {
      connection.lose()
      throw new Error(`the server is a former primary, on timeline ${connection.timeline} of ${this.#timeline}`)
    }
    this.#timeline = connection.timeline
    for (const other of this.#open) {
      if (other.lost) this.#open.delete(other)
      else if (other.timeline < this.#timeline) other.lose()
    }
    this.#open.add(connection)
    return connection
  }

  async #connectTo(address: string): Promise<PostgresConnection> {
    const client = clientOf(address)
    const connection = new PostgresConnection(client)
    try {
      await client.connect()
      connection.timeline = await checkServer(connection)
      // Learned before any connection is accepted, so that of several primaries the newest is.
      this.#timeline = Math.max(this.#timeline, connection.timeline)
      return connection
    } catch (error) {
      // A half-open connection also occupies one of the server's slots until it is closed.
      connection.lose()
      throw error
    }
  }
}

/** One connection at a time, replaced when it is lost. The user runs one statement at a time on it. */
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
