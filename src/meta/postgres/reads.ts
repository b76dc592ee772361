/**
 * Reads from PostgreSQL, always from the primary. Waiting gets share one round trip. A read that lost its connection is
 * simply repeated.
 */
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import { keyText } from '../commit-limits.ts'
import type { Entry, EntryView, KeyedRead, KeyRange, ScanWithKeys, Snapshot } from '../meta.ts'
import { byteaArray, int8, int8Array } from './binary-values.ts'
import type { BinaryValue } from './bind-message.ts'
import { type Cluster, ConnectionLane, READ_MS, TRANSIENT, wasRefused } from './connection.ts'
import type { PreparedStatement } from './execution.ts'
import { whyOf } from './outage.ts'
import type { RowReader } from './row-reader.ts'
import { SERVER_TIME, type Statements } from './schema.ts'

const GETS_MAX = 256
const SCAN_CONNECTIONS = 2

/** Keys that are read together: a batch holds all of a group or none. */
interface PendingGets {
  readonly reads: readonly KeyedRead[]
  readonly resolve: (entries: readonly (Entry | undefined)[]) => void
  readonly reject: (error: unknown) => void
}

/** A record that was asked for by its key; the server omits the value of a known one. */
interface FoundRecord {
  /** Counted from 1. */
  readonly position: number
  readonly value: Buffer | undefined
  readonly stamp: number
}

const entryIn = (row: RowReader): Entry => ({ key: row.copy(), value: row.copy(), stamp: row.int8() })
const viewIn = (row: RowReader): EntryView => ({ key: row.span(), value: row.span(), stamp: row.int8() })

function recordIn(row: RowReader): FoundRecord {
  return { position: row.int8(), value: row.skipNull() ? undefined : row.copy(), stamp: row.int8() }
}

/** Entries of the range have position 0; records have no key. */
function entryOrRecordIn(row: RowReader): EntryView | FoundRecord {
  const position = row.int8()
  if (position === 0) return viewIn(row)
  row.skipNull()
  return { position, value: row.skipNull() ? undefined : row.copy(), stamp: row.int8() }
}

const isRecord = (row: EntryView | FoundRecord): row is FoundRecord => 'position' in row

const rangeValues = ({ start, end }: KeyRange, limit: number): readonly BinaryValue[] =>
  end === undefined ? [start, int8(limit)] : [start, int8(limit), end]

function scanStatement(
  sql: Statements,
  range: KeyRange,
  limit: number,
  reverse: boolean,
): Omit<PreparedStatement<never>, 'decode'> {
  const hasEnd = range.end !== undefined
  return {
    name: `scan${hasEnd ? ' to end' : ''}${reverse ? ' reverse' : ''}`,
    text: sql.scan(hasEnd, reverse),
    values: rangeValues(range, limit),
  }
}

/** On a connection of its own, which cannot be replaced: the snapshot ends with it. */
export async function openSnapshot(cluster: Cluster, sql: Statements): Promise<Snapshot> {
  const connection = await cluster.connect()
  const scan = async (range: KeyRange, limit: number): Promise<readonly Entry[]> =>
    limit <= 0 ? [] : connection.query({ ...scanStatement(sql, range, limit, false), decode: entryIn })
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

async function queryWithRetry<T>(
  cluster: Cluster,
  lane: ConnectionLane,
  kind: 'get' | 'scan',
  statement: PreparedStatement<T>,
): Promise<readonly T[]> {
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
  /** The index of each read, in the order of the groups. */
  readonly #order: number[] = []

  constructor(groups: readonly { readonly reads: readonly KeyedRead[] }[]) {
    for (const { reads } of groups) for (const read of reads) this.#order.push(this.#add(read))
  }

  #add(read: KeyedRead): number {
    const name = keyText(read.key)
    const before = this.#index.get(name)
    if (before !== undefined) return before
    this.#index.set(name, this.#reads.length)
    return this.#reads.push(read) - 1
  }

  get size(): number {
    return this.#reads.length
  }

  parameters(): readonly Buffer[] {
    return [byteaArray(this.#reads.map(read => read.key)), int8Array(this.#reads.map(read => read.known?.stamp))]
  }

  /** The entries of all reads, in the order of the groups. */
  entries(records: readonly FoundRecord[]): readonly (Entry | undefined)[] {
    const found = new Array<FoundRecord | undefined>(this.#reads.length)
    for (const record of records) found[record.position - 1] = record
    const lent = new Set<FoundRecord>()
    return this.#order.map(index => {
      const record = found[index]
      if (record === undefined) return undefined
      const { key, known } = this.#reads[index]!
      const { value, stamp } = record
      if (value === undefined) return known
      // A buffer for each, so that two callers with the same key do not share one.
      const isLent = lent.has(record)
      lent.add(record)
      return { key, value: isLent ? Buffer.from(value) : value, stamp }
    })
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
    const statement = { name: 'get', text: this.#sql.get, values: batch.parameters(), decode: recordIn }
    const entries = batch.entries(await queryWithRetry(this.#cluster, this.#lane, 'get', statement))
    let at = 0
    for (const { reads, resolve } of groups) resolve(entries.slice(at, (at += reads.length)))
  }

  async close(): Promise<void> {
    await this.#running
    await this.#lane.close()
  }
}

/** Runs on a lane that is idle; never rejects. */
type WaitingScan = (lane: ConnectionLane) => Promise<void>

export class Scans {
  readonly #cluster: Cluster
  readonly #lanes: readonly ConnectionLane[]
  readonly #sql: Statements
  readonly #idle: ConnectionLane[]
  readonly #running = new Set<Promise<void>>()
  /** Pages of listings: as many as there are requests. */
  readonly #listings: WaitingScan[] = []
  /** Others go first: a gateway that is late to see the cluster and renew its membership is expelled. */
  readonly #others: WaitingScan[] = []

  constructor(cluster: Cluster, sql: Statements) {
    this.#cluster = cluster
    this.#lanes = Array.from({ length: SCAN_CONNECTIONS }, () => new ConnectionLane(cluster))
    this.#idle = [...this.#lanes]
    this.#sql = sql
  }

  async scan(range: KeyRange, limit: number, reverse: boolean): Promise<readonly Entry[]> {
    return this.#query(this.#others, { ...scanStatement(this.#sql, range, limit, reverse), decode: entryIn })
  }

  /** Entries in the buffers that they arrived in. */
  async scanViews(range: KeyRange, limit: number): Promise<readonly EntryView[]> {
    return this.#query(this.#listings, { ...scanStatement(this.#sql, range, limit, false), decode: viewIn })
  }

  async scanWithKeys(
    range: KeyRange,
    limit: number,
    reads: readonly KeyedRead[],
    headsOnly: boolean,
  ): Promise<ScanWithKeys> {
    const batch = new GetBatch([{ reads }])
    const hasEnd = range.end !== undefined
    const rows = await this.#query(this.#listings, {
      name: `scan with keys${hasEnd ? ' to end' : ''}${headsOnly ? ' heads' : ''}`,
      text: this.#sql.scanWithKeys(hasEnd, headsOnly),
      values: [...rangeValues(range, limit), ...batch.parameters()],
      decode: entryOrRecordIn,
    })
    const entries: EntryView[] = []
    const records: FoundRecord[] = []
    for (const row of rows) {
      if (isRecord(row)) records.push(row)
      else entries.push(row)
    }
    return { entries, records: batch.entries(records) }
  }

  async serverTime(): Promise<number> {
    const decode = (row: RowReader): number => row.float8()
    const [time] = await this.#query(this.#others, { name: 'server time', text: SERVER_TIME, values: [], decode })
    return time!
  }

  #query<T>(queue: WaitingScan[], statement: PreparedStatement<T>): Promise<readonly T[]> {
    return new Promise((resolve, reject) => {
      queue.push(lane => queryWithRetry(this.#cluster, lane, 'scan', statement).then(resolve, reject))
      this.#start()
    })
  }

  #start(): void {
    while (this.#idle.length > 0) {
      const scan = this.#others.shift() ?? this.#listings.shift()
      if (scan === undefined) return
      const lane = this.#idle.shift()!
      const run = scan(lane).then(() => {
        this.#idle.push(lane)
        this.#running.delete(run)
        this.#start()
      })
      this.#running.add(run)
    }
  }

  async close(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
    await Promise.all(this.#lanes.map(lane => lane.close()))
  }
}
