/**
 * Commits on their way to PostgreSQL. Those that wait go out together: a batch of independent minitransactions is one
 * round trip, one transaction and one sync. Each batch carries a token that is stored with it, so that when the
 * connection is lost at the wrong moment, the token tells whether the batch was taken.
 */
import { crc32c } from '@node-rs/crc32'
import { crc32 } from '../../lib/crc.ts'
import type { Random } from '../../lib/random.ts'
import { keyText } from '../commit-limits.ts'
import { META_LIMITS, MetaFull, type Minitransaction, OutcomeUnknown } from '../meta.ts'
import { boolArray, byteaArray, int4Array, int8Array, rawInt8Array } from './binary-arrays.ts'
import { type Cluster, ConnectionLane, wasRefused } from './connection.ts'
import { type Footprint, KeyFootprints } from './key-footprints.ts'
import type { Statements } from './schema.ts'

const CONNECTIONS = 2
const BATCH_KEYS_MAX = META_LIMITS.commitKeysMax
const BATCH_BYTES_MAX = 2 * META_LIMITS.commitBytesMax
/** Refusals that have nothing to do with the batch: deadlock, serialization, timeouts. */
const PASSING = new Set(['40001', '40P01', '55P03', '57014'])
const DISK_FULL = '53100'
const FORGET_EVERY_BATCHES = 1_000

interface Waiting extends Footprint {
  readonly tx: Minitransaction
  readonly bytes: number
  readonly resolve: (taken: boolean) => void
  readonly reject: (error: unknown) => void
}

/** 64 bits of the key, the same in every process. Two keys with one hash only wait for each other. */
function lockHash(key: Buffer): Buffer {
  const out = Buffer.allocUnsafe(8)
  out.writeUInt32BE(crc32(key) >>> 0, 0)
  out.writeUInt32BE(crc32c(key) >>> 0, 4)
  return out
}

/** Every lock once, in the one order that all processes keep to, so that no two batches wait for each other. */
function locksOf(batch: readonly Waiting[]): { hashes: Buffer[]; writes: boolean[] } {
  const locks = new Map<string, { hash: Buffer; write: boolean }>()
  const add = (key: Buffer, write: boolean): void => {
    const hash = lockHash(key)
    const text = hash.toString('latin1')
    const known = locks.get(text)
    if (known === undefined) locks.set(text, { hash, write })
    else known.write ||= write
  }
  for (const { tx } of batch) {
    for (const { key } of tx.checks) add(key, false)
    for (const { key } of tx.writes) add(key, true)
  }
  const sorted = [...locks.values()].sort((a, b) => Buffer.compare(a.hash, b.hash))
  return { hashes: sorted.map(lock => lock.hash), writes: sorted.map(lock => lock.write) }
}

function parametersOf(batch: readonly Waiting[]): readonly Buffer[] {
  const locks = locksOf(batch)
  const checks = batch.flatMap(({ tx }, index) => tx.checks.map(check => ({ ...check, index })))
  const writes = batch.flatMap(({ tx }, index) => tx.writes.map(write => ({ ...write, index })))
  return [
    rawInt8Array(locks.hashes),
    boolArray(locks.writes),
    byteaArray(checks.map(check => check.key)),
    int8Array(checks.map(check => check.stamp)),
    int4Array(checks.map(check => check.index)),
    byteaArray(writes.map(write => write.key)),
    byteaArray(writes.map(write => write.value)),
    int4Array(writes.map(write => write.index)),
  ]
}

/** `{1,5}` */
const indexesIn = (text: string): ReadonlySet<number> =>
  new Set(text.slice(1, -1).split(',').filter(Boolean).map(Number))

function waitingFor(tx: Minitransaction, resolve: Waiting['resolve'], reject: Waiting['reject']): Waiting {
  const writes = tx.writes.map(write => keyText(write.key))
  const written = new Set(writes)
  const checks = [...new Set(tx.checks.map(check => keyText(check.key)))].filter(key => !written.has(key))
  let bytes = 0
  for (const { key, value } of tx.writes) bytes += key.length + (value?.length ?? 0)
  return { tx, writes, checks, bytes, resolve, reject }
}

export class Commits {
  readonly #cluster: Cluster
  readonly #sql: Statements
  readonly #random: Random
  readonly #idle: ConnectionLane[]
  readonly #lanes: readonly ConnectionLane[]
  readonly #claims = new KeyFootprints()
  readonly #running = new Set<Promise<void>>()
  #waiting: Waiting[] = []
  #scheduled = false
  #batches = 0

  constructor(cluster: Cluster, sql: Statements, random: Random) {
    this.#cluster = cluster
    this.#sql = sql
    this.#random = random
    this.#lanes = Array.from({ length: CONNECTIONS }, () => new ConnectionLane(cluster))
    this.#idle = [...this.#lanes]
  }

  add(tx: Minitransaction): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#waiting.push(waitingFor(tx, resolve, reject))
      this.#schedule()
    })
  }

  /** At the end of this turn of the event loop, so that commits issued together travel together. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#start()
    })
  }

  #start(): void {
    while (this.#idle.length > 0 && this.#waiting.length > 0) {
      const batch = this.#take()
      // All of them touch what is under way: they start when that is done.
      if (batch.length === 0) return
      const lane = this.#idle.pop()!
      const run = this.#run(lane, batch).finally(() => {
        for (const waiting of batch) this.#claims.release(waiting)
        this.#idle.push(lane)
        this.#running.delete(run)
        this.#start()
      })
      this.#running.add(run)
    }
  }

  #take(): readonly Waiting[] {
    const batch: Waiting[] = []
    const left: Waiting[] = []
    let keys = 0
    let bytes = 0
    for (const waiting of this.#waiting) {
      const itsKeys = waiting.writes.length + waiting.checks.length
      const fits = batch.length === 0 || (keys + itsKeys <= BATCH_KEYS_MAX && bytes + waiting.bytes <= BATCH_BYTES_MAX)
      if (!fits || !this.#claims.tryTake(waiting)) {
        left.push(waiting)
        continue
      }
      batch.push(waiting)
      keys += itsKeys
      bytes += waiting.bytes
    }
    this.#waiting = left
    return batch
  }

  async #run(lane: ConnectionLane, batch: readonly Waiting[]): Promise<void> {
    try {
      const failed = await this.#perform(lane, parametersOf(batch))
      for (const [index, { resolve }] of batch.entries()) resolve(!failed.has(index))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    if (++this.#batches % FORGET_EVERY_BATCHES === 0) await this.#forget(lane)
  }

  /** The minitransactions of the batch whose checks did not hold; the others were taken. */
  async #perform(lane: ConnectionLane, parameters: readonly Buffer[]): Promise<ReadonlySet<number>> {
    const isOver = this.#cluster.patience()
    for (;;) {
      const connection = await lane.ready()
      const token = this.#random.bytes(16)
      try {
        const [row] = await connection.query({ name: 'commit', text: this.#sql.commit, values: [token, ...parameters] })
        return indexesIn(row![0]!)
      } catch (error) {
        const failed = wasRefused(error) ? this.#assertPassing(error) : await this.#resolve(lane, token)
        if (failed !== undefined) return failed
        // Here it is certain that nothing was written.
        if (isOver()) throw error
      }
    }
  }

  #assertPassing(error: unknown): undefined {
    const code = (error as { code?: string }).code ?? ''
    if (code === DISK_FULL) throw new MetaFull(error)
    if (!PASSING.has(code)) throw error
  }

  /**
   * What became of a batch whose connection was lost. The token is stored as given up, unless it is there already:
   * if the batch is still running this waits for its end, and if it has not begun it can no longer succeed.
   * Undefined: the batch was not taken and never will be.
   */
  async #resolve(lane: ConnectionLane, token: Buffer): Promise<ReadonlySet<number> | undefined> {
    const isOver = this.#cluster.patience()
    for (;;) {
      const connection = await lane.ready().catch(error => {
        throw new OutcomeUnknown(error)
      })
      try {
        await connection.query({ name: 'give up', text: this.#sql.giveUp, values: [token] })
        const [row] = await connection.query({ name: 'outcome', text: this.#sql.outcome, values: [token] })
        const failed = row![0]
        return failed === null ? undefined : indexesIn(failed!)
      } catch (error) {
        if (isOver()) throw new OutcomeUnknown(error)
      }
    }
  }

  /** Tokens matter for as long as someone may ask for them. A failure here is made up for the next time. */
  async #forget(lane: ConnectionLane): Promise<void> {
    try {
      const connection = await lane.ready()
      await connection.query({ name: 'forget', text: this.#sql.forget, values: [] })
    } catch {}
  }

  async close(): Promise<void> {
    while (this.#waiting.length > 0 || this.#running.size > 0) {
      await Promise.all(this.#running)
      await new Promise(resolve => setImmediate(resolve))
    }
    await Promise.all(this.#lanes.map(lane => lane.close()))
  }
}
