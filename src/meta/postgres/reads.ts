/**
 * Reads from PostgreSQL, always from the primary. Waiting gets share one round trip. A read that lost its connection is
 * simply repeated.
 */
import { keyText } from '../commit-limits.ts'
import type { Entry, KeyRange, Snapshot } from '../meta.ts'
import { byteaArray } from './binary-arrays.ts'
import { type Cluster, ConnectionLane, type PostgresRow, type PreparedStatement, wasRefused } from './connection.ts'
import type { Statements } from './schema.ts'

const GETS_MAX = 256
const SCAN_CONNECTIONS = 2

interface PendingGet {
  readonly key: Buffer
  readonly resolve: (entry: Entry | undefined) => void
  readonly reject: (error: unknown) => void
}

/** `\x0aff` */
const bytesIn = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

const entryOf = ([k, v, s]: PostgresRow): Entry => ({ key: bytesIn(k!), value: bytesIn(v!), stamp: Number(s) })

function scanStatement(sql: Statements, range: KeyRange, limit: number, reverse: boolean): PreparedStatement {
  const hasEnd = range.end !== undefined
  return {
    name: `scan${hasEnd ? ' to end' : ''}${reverse ? ' reverse' : ''}`,
    text: sql.scan(hasEnd, reverse),
    values: hasEnd ? [range.start, limit, range.end] : [range.start, limit],
  }
}

/** On a connection of its own, which cannot be replaced: the snapshot ends with it. */
export async function openSnapshot(cluster: Cluster, sql: Statements): Promise<Snapshot> {
  const connection = await cluster.connect()
  const scan = async (range: KeyRange, limit: number): Promise<readonly Entry[]> =>
    limit <= 0 ? [] : (await connection.query(scanStatement(sql, range, limit, false))).map(entryOf)
  try {
    await connection.run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // The first statement fixes the snapshot.
    await scan({ start: Buffer.alloc(0), end: undefined }, 1)
  } catch (error) {
    await connection.end()
    throw error
  }
  return { scan, end: () => connection.end() }
}

async function queryWithRetry(
  cluster: Cluster,
  lane: ConnectionLane,
  statement: PreparedStatement,
): Promise<readonly PostgresRow[]> {
  const hasTimedOut = cluster.patience()
  for (;;) {
    const connection = await lane.ready()
    try {
      return await connection.query(statement)
    } catch (error) {
      if (wasRefused(error) || hasTimedOut()) throw error
    }
  }
}

export class Gets {
  readonly #cluster: Cluster
  readonly #lane: ConnectionLane
  readonly #sql: Statements
  #pending: PendingGet[] = []
  #running: Promise<void> | undefined

  constructor(cluster: Cluster, sql: Statements) {
    this.#cluster = cluster
    this.#lane = new ConnectionLane(cluster)
    this.#sql = sql
  }

  add(key: Buffer): Promise<Entry | undefined> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ key, resolve, reject })
      this.#running ??= this.#drain()
    })
  }

  async #drain(): Promise<void> {
    // At the end of the event loop turn, so that gets issued together are batched.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#pending.length > 0) {
      const group = this.#pending.splice(0, GETS_MAX)
      try {
        await this.#run(group)
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    this.#running = undefined
  }

  async #run(group: readonly PendingGet[]): Promise<void> {
    const keys = new Map(group.map(({ key }) => [keyText(key), key]))
    const requested = [...keys.values()]
    const rows = await queryWithRetry(this.#cluster, this.#lane, {
      name: 'get',
      text: this.#sql.get,
      values: [byteaArray(requested)],
    })
    const found = new Map<string, PostgresRow>()
    for (const row of rows) found.set(keyText(requested[Number(row[0]) - 1]!), row)
    for (const { key, resolve } of group) {
      const row = found.get(keyText(key))
      // A buffer for each, so that two callers with the same key do not share one.
      resolve(row && { key, value: bytesIn(row[1]!), stamp: Number(row[2]) })
    }
  }

  async close(): Promise<void> {
    await this.#running
    await this.#lane.close()
  }
}

export class Scans {
  readonly #cluster: Cluster
  readonly #lanes: readonly ConnectionLane[]
  readonly #sql: Statements
  /** The end of each lane's queue. */
  readonly #ends: Promise<unknown>[]
  #next = 0

  constructor(cluster: Cluster, sql: Statements) {
    this.#cluster = cluster
    this.#lanes = Array.from({ length: SCAN_CONNECTIONS }, () => new ConnectionLane(cluster))
    this.#ends = this.#lanes.map(() => Promise.resolve())
    this.#sql = sql
  }

  async scan(range: KeyRange, limit: number, reverse: boolean): Promise<readonly Entry[]> {
    const statement = scanStatement(this.#sql, range, limit, reverse)
    const at = this.#next++ % this.#lanes.length
    const rows = this.#ends[at]!.then(() => queryWithRetry(this.#cluster, this.#lanes[at]!, statement))
    this.#ends[at] = rows.catch(() => {})
    return (await rows).map(entryOf)
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends)
    await Promise.all(this.#lanes.map(lane => lane.close()))
  }
}
