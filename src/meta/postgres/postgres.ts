/**
 * Metadata in PostgreSQL, for several gateways on one database. Five connections per process: two for commits, one for
 * gets, two for scans. The server checksums its own pages, so values carry no checksum of ours.
 */
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { checkCommitLimits, checkKeyLimits } from '../commit-limits.ts'
import type {
  Entry,
  KeyedRead,
  KeyRange,
  MetaEngine,
  Minitransaction,
  Projection,
  RemoteReads,
  ScanWithKeys,
  Snapshot,
} from '../meta.ts'
import { Commits } from './commits.ts'
import { Cluster, type PostgresConnection, REACH_MS, UnfitServer } from './connection.ts'
import type { OnOutage } from './outage.ts'
import { Gets, openSnapshot, Scans } from './reads.ts'
import type { RowReader } from './row-reader.ts'
import { type Statements, statements } from './schema.ts'

interface PostgresOptions {
  /** `postgres://user@host:port,host:port/database`: the hosts are tried in turn for the primary. */
  readonly url: string
  readonly table?: string
  readonly clock?: Clock
  readonly random?: Random
  /** Called while no server is usable. */
  readonly onWait?: OnOutage | undefined
}

class PostgresMeta implements MetaEngine {
  readonly #cluster: Cluster
  readonly #commits: Commits
  readonly #gets: Gets
  readonly #scans: Scans
  readonly #sql: Statements
  readonly remote: RemoteReads
  #closed = false

  constructor(cluster: Cluster, sql: Statements, random: Random) {
    this.#cluster = cluster
    this.#commits = new Commits(cluster, sql, random)
    this.#gets = new Gets(cluster, sql)
    this.#scans = new Scans(cluster, sql)
    this.#sql = sql
    this.remote = {
      figures: cluster.figures,
      getMany: async reads => this.#getMany(reads),
      scanWithKeys: (range, limit, reads, headsOnly) => this.#scanWithKeys(range, limit, reads, headsOnly),
      serverTime: async () => this.#serverTime(),
    }
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('the metadata engine is closed')
  }

  async get(key: Buffer, known?: Entry): Promise<Entry | undefined> {
    return (await this.#getMany([{ key, known }]))[0]
  }

  #getMany(reads: readonly KeyedRead[]): Promise<readonly (Entry | undefined)[]> {
    this.#assertOpen()
    for (const { key } of reads) checkKeyLimits(key)
    return this.#gets.add(reads)
  }

  async #scanWithKeys(
    range: KeyRange,
    limit: number,
    reads: readonly KeyedRead[],
    headsOnly = false,
  ): Promise<ScanWithKeys> {
    if (limit <= 0) return { entries: [], records: await this.#getMany(reads) }
    this.#assertOpen()
    for (const { key } of reads) checkKeyLimits(key)
    return this.#scans.scanWithKeys(range, limit, reads, headsOnly)
  }

  #serverTime(): Promise<number> {
    this.#assertOpen()
    return this.#scans.serverTime()
  }

  async scan(range: KeyRange, limit: number, reverse = false): Promise<readonly Entry[]> {
    this.#assertOpen()
    return limit <= 0 ? [] : this.#scans.scan(range, limit, reverse)
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>): Promise<readonly T[]> {
    this.#assertOpen()
    return limit <= 0
      ? []
      : (await this.#scans.scanViews(range, limit)).map((entry, index) => make(entry, index, false))
  }

  async commit(tx: Minitransaction): Promise<boolean> {
    this.#assertOpen()
    checkCommitLimits(tx)
    return this.#commits.add(tx)
  }

  async snapshot(): Promise<Snapshot> {
    this.#assertOpen()
    return openSnapshot(this.#cluster, this.#sql)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    // A search for a primary must not hold up the end of the process any longer than a call.
    const cancel = this.#cluster.clock.after(REACH_MS, () => this.#cluster.close())
    await Promise.all([this.#commits.close(), this.#gets.close(), this.#scans.close()])
    cancel()
    this.#cluster.close()
  }
}

/** A server that speaks the protocol but ignores advisory locks would lose updates, so they are tested. */
async function checkLocks(one: PostgresConnection, other: PostgresConnection, random: Random): Promise<void> {
  const key = random.bytes(8)
  const lock = async (connection: PostgresConnection, call: string): Promise<boolean> => {
    const decode = (row: RowReader): boolean => row.boolean()
    const [result] = await connection.query({ name: call, text: `SELECT ${call}($1)`, values: [key], decode })
    return result!
  }
  const first = await lock(one, 'pg_try_advisory_lock')
  const second = await lock(other, 'pg_try_advisory_lock')
  const released = await lock(one, 'pg_advisory_unlock')
  const third = await lock(other, 'pg_try_advisory_lock')
  if (!first || second || !released || !third) throw new UnfitServer('its advisory locks have no effect')
}

/** Serializes concurrent starts: PostgreSQL's "if not exists" is not safe between them. */
async function setUp(connection: PostgresConnection, sql: Statements): Promise<void> {
  await connection.run('BEGIN')
  await connection.run("SELECT pg_advisory_xact_lock(hashtext('holdfast set up'))")
  for (const text of sql.setUp) await connection.run(text)
  await connection.run('COMMIT')
}

export async function openPostgresMeta(options: PostgresOptions): Promise<MetaEngine> {
  const random = options.random ?? systemRandom
  const sql = statements(options.table ?? 'holdfast_meta')
  const { url, clock = systemClock, onWait } = options
  const cluster = new Cluster({ url, clock, random, onWait })
  const connections: PostgresConnection[] = []
  try {
    connections.push(await cluster.connect(), await cluster.connect())
    await checkLocks(connections[0]!, connections[1]!, random)
    await setUp(connections[0]!, sql)
  } finally {
    await Promise.all(connections.map(connection => connection.end()))
  }
  return new PostgresMeta(cluster, sql, random)
}
