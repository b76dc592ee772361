/**
 * Reads from PostgreSQL, always from the primary. Waiting gets share one round trip. A read that lost its connection is
 * simply repeated.
 */
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { keyText } from '../commit-limits.ts'
import type { Entry, KeyedRead, KeyRange, ScanWithKeys, Snapshot } from '../meta.ts'
import { byteaArray, int8Array } from './binary-arrays.ts'
import {
  type Cluster,
  ConnectionLane,
  type PostgresRow,
  type PreparedStatement,
  READ_MS,
  TRANSIENT,
  wasRefused,
} from './connection.ts'
import { whyOf } from './outage.ts'
import { SERVER_TIME, type Statements } from './schema.ts'

const GETS_MAX = 256
const SCAN_CONNECTIONS = 2

/** Keys that are read together: a batch holds all of a group or none. */
interface PendingGets {
  readonly reads: readonly KeyedRead[]
  readonly resolve: (entries: readonly (Entry | undefined)[]) => void
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
  kind: 'get' | 'scan',
  statement: PreparedStatement,
): Promise<readonly PostgresRow[]> {
  const hasTimedOut = cluster.patience()
  for (;;) {
    const connection = await lane.ready()
    try {
      return await cluster.figures.timed(kind, () => connection.query({ ...statement, timeoutMs: READ_MS }))
    } catch (error) {
      if (wasRefused(error) && !TRANSIENT.has((error as { code: string }).code)) throw error
      if (hasTimedOut()) throw new EngineUnavailable(`PostgreSQL does not answer: ${whyOf(error)}`, error)
    }
  }
}

/** The keys of several groups without duplicates, and the earlier reads that the server need not send again. */
class GetBatch {
  readonly #index = new Map<string, number>()
  readonly #reads: KeyedRead[] = []

  constructor(groups: readonly { readonly reads: readonly KeyedRead[] }[]) {
    for (const { reads } of groups) for (const read of reads) this.#add(read)
  }

  #add(read: KeyedRead): void {
    const name = keyText(read.key)
    if (this.#index.has(name)) return
    this.#index.set(name, this.#reads.length)
    this.#reads.push(read)
  }

  get size(): number {
    return this.#reads.length
  }

  parameters(): readonly Buffer[] {
    return [byteaArray(this.#reads.map(read => read.key)), int8Array(this.#reads.map(read => read.known?.stamp))]
  }

  /** Looks up entries in rows of position, value and stamp; the server omits the value of a known record. */
  lookup(rows: readonly PostgresRow[]): (read: KeyedRead) => Entry | undefined {
    const found = new Array<PostgresRow | undefined>(this.#reads.length)
    for (const row of rows) found[Number(row[0]) - 1] = row
    return ({ key }) => {
      const index = this.#index.get(keyText(key))!
      const row = found[index]
      if (row === undefined) return undefined
      // A buffer for each, so that two callers with the same key do not share one.
      return row[1] === null ? this.#reads[index]!.known : { key, value: bytesIn(row[1]!), stamp: Number(row[2]) }
    }
  }
}

export class Gets {
  readonly #cluster: Cluster
  readonly #lane: ConnectionLane
  readonly #sql: Statements
  #pending: PendingGets[] = []
  #running: Promise<void> | undefined

  constructor(cluster: Cluster, sql: Statements) {
    this.#cluster = cluster
    this.#lane = new ConnectionLane(cluster)
    this.#sql = sql
  }

  /** All as of one point in time. */
  add(reads: readonly KeyedRead[]): Promise<readonly (Entry | undefined)[]> {
    return new Promise((resolve, reject) => {
      this.#pending.push({ reads, resolve, reject })
      this.#running ??= this.#drain()
    })
  }

  async #drain(): Promise<void> {
    // At the end of the event loop turn, so that gets issued together are batched.
    await new Promise(resolve => setImmediate(resolve))
    while (this.#pending.length > 0) {
      const groups = this.#nextBatch()
      try {
        await this.#run(groups)
      } catch (error) {
        for (const { reject } of groups) reject(error)
      }
    }
    this.#running = undefined
  }

  #nextBatch(): readonly PendingGets[] {
    let keys = 0
    const excess = this.#pending.findIndex(({ reads }, index) => (keys += reads.length) > GETS_MAX && index > 0)
    return this.#pending.splice(0, excess < 0 ? this.#pending.length : excess)
  }

  async #run(groups: readonly PendingGets[]): Promise<void> {
    const batch = new GetBatch(groups)
    this.#cluster.figures.batchSizes.get.observe(batch.size)
    const statement = { name: 'get', text: this.#sql.get, values: batch.parameters() }
    const entryFor = batch.lookup(await queryWithRetry(this.#cluster, this.#lane, 'get', statement))
    for (const { reads, resolve } of groups) resolve(reads.map(entryFor))
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
    return (await this.#query(scanStatement(this.#sql, range, limit, reverse))).map(entryOf)
  }

  async scanWithKeys(
    range: KeyRange,
    limit: number,
    reads: readonly KeyedRead[],
    headsOnly: boolean,
  ): Promise<ScanWithKeys> {
    const batch = new GetBatch([{ reads }])
    const hasEnd = range.end !== undefined
    const { values } = scanStatement(this.#sql, range, limit, false)
    const rows = await this.#query({
      name: `scan with keys${hasEnd ? ' to end' : ''}${headsOnly ? ' heads' : ''}`,
      text: this.#sql.scanWithKeys(hasEnd, headsOnly),
      values: [...values, ...batch.parameters()],
    })
    const entries = rows.filter(([position]) => position === '0').map(([, k, v, s]) => entryOf([k!, v!, s!]))
    const records = rows.filter(([position]) => position !== '0').map(([position, , v, s]) => [position!, v!, s!])
    return { entries, records: reads.map(batch.lookup(records)) }
  }

  async serverTime(): Promise<number> {
    const [row] = await this.#query({ name: 'server time', text: SERVER_TIME, values: [] })
    return Number(row![0])
  }

  async #query(statement: PreparedStatement): Promise<readonly PostgresRow[]> {
    const at = this.#next++ % this.#lanes.length
    const rows = this.#ends[at]!.then(() => queryWithRetry(this.#cluster, this.#lanes[at]!, 'scan', statement))
    this.#ends[at] = rows.catch(() => {})
    return rows
  }

  async close(): Promise<void> {
    await Promise.all(this.#ends)
    await Promise.all(this.#lanes.map(lane => lane.close()))
  }
}
