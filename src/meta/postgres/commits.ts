/**
 * Sends commits to PostgreSQL. Waiting ones are batched: a batch of independent minitransactions is one round trip, one
 * transaction and one sync. Each batch stores a token, which tells whether it was committed when the connection is lost
 * before the response.
 */
import { crc32c } from '@node-rs/crc32'
import { crc32 } from '../../lib/crc.ts'
import { EngineUnavailable } from '../../lib/engine-unavailable.ts'
import type { Random } from '../../lib/random.ts'
import { keyText } from '../commit-limits.ts'
import { META_LIMITS, MetaFull, type Minitransaction, OutcomeUnknown } from '../meta.ts'
import { boolArray, byteaArray, int4Array, int8Array, rawInt8Array } from './binary-values.ts'
import { type Cluster, ConnectionLane, TRANSIENT, wasRefused } from './connection.ts'
import { type Footprint, KeyFootprints } from './key-footprints.ts'
import { whyOf } from './outage.ts'
import type { RowReader } from './row-reader.ts'
import type { Statements } from './schema.ts'

const CONNECTIONS = 2
const BATCH_KEYS_MAX = META_LIMITS.commitKeysMax
const BATCH_BYTES_MAX = 2 * META_LIMITS.commitBytesMax
const DISK_FULL = '53100'
const PURGE_EVERY_BATCHES = 1_000
/** Tokens are forgotten after an hour of the server's time; an outcome is not asked for any more well before that. */
const RESOLVE_MS_MAX = 50 * 60_000
const RESOLVE_PAUSE_MS = 50
const EXPIRY_CHECK_MS = 1_000

interface PendingCommit extends Footprint {
  readonly tx: Minitransaction
  readonly bytes: number
  readonly hasExpired: () => boolean
  readonly resolve: (isCommitted: boolean) => void
  readonly reject: (error: unknown) => void
}

/** 64 bits of the key, the same in every process. A collision only makes two keys wait for each other. */
function lockHash(key: Buffer): Buffer {
  const out = Buffer.allocUnsafe(8)
  out.writeUInt32BE(crc32(key) >>> 0, 0)
  out.writeUInt32BE(crc32c(key) >>> 0, 4)
  return out
}

/** Every lock once, in one global order, so that batches cannot deadlock. */
function locksOf(batch: readonly PendingCommit[]): { hashes: Buffer[]; writes: boolean[] } {
  const locks = new Map<string, { hash: Buffer; write: boolean }>()
  const add = (key: Buffer, write: boolean): void => {
    const hash = lockHash(key)
    const text = hash.toString('latin1')
    const lock = locks.get(text)
    if (lock === undefined) locks.set(text, { hash, write })
    else lock.write ||= write
  }
  for (const { tx } of batch) {
    for (const { key } of tx.checks) add(key, false)
    for (const { key } of tx.writes) add(key, true)
  }
  const sorted = [...locks.values()].sort((a, b) => Buffer.compare(a.hash, b.hash))
  return { hashes: sorted.map(lock => lock.hash), writes: sorted.map(lock => lock.write) }
}

function parametersOf(batch: readonly PendingCommit[]): readonly Buffer[] {
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

const failedIn = (row: RowReader): ReadonlySet<number> => new Set(row.int4Array())
/** NULL for a batch that was given up. */
const outcomeIn = (row: RowReader): { readonly failed: ReadonlySet<number> | undefined } => ({
  failed: row.skipNull() ? undefined : failedIn(row),
})
const NO_ROW = (): undefined => undefined

function pendingCommit(
  tx: Minitransaction,
  { hasExpired, resolve, reject }: Pick<PendingCommit, 'hasExpired' | 'resolve' | 'reject'>,
): PendingCommit {
  const writes = tx.writes.map(write => keyText(write.key))
  const written = new Set(writes)
  const checks = [...new Set(tx.checks.map(check => keyText(check.key)))].filter(key => !written.has(key))
  let bytes = 0
  for (const { key, value } of tx.writes) bytes += key.length + (value?.length ?? 0)
  return { tx, writes, checks, bytes, hasExpired, resolve, reject }
}

export class Commits {
  readonly #cluster: Cluster
  readonly #sql: Statements
  readonly #random: Random
  readonly #idle: ConnectionLane[]
  readonly #lanes: readonly ConnectionLane[]
  readonly #footprints = new KeyFootprints()
  readonly #running = new Set<Promise<void>>()
  #pending: PendingCommit[] = []
  #scheduled = false
  #isExpiring = false
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
      this.#pending.push(pendingCommit(tx, { hasExpired: this.#cluster.patience(), resolve, reject }))
      this.#schedule()
      if (!this.#isExpiring) this.#expireLater()
    })
  }

  /** Commits that wait for others whose outcome is open fail after a while; nothing of them was sent. */
  #expireLater(): void {
    this.#isExpiring = true
    this.#cluster.clock.after(EXPIRY_CHECK_MS, () => {
      this.#isExpiring = false
      const expired = this.#pending.filter(pending => pending.hasExpired())
      this.#pending = this.#pending.filter(pending => !expired.includes(pending))
      for (const { reject } of expired) reject(new EngineUnavailable('PostgreSQL does not answer: a commit waits'))
      if (this.#pending.length > 0) this.#expireLater()
    })
  }

  /** At the end of the event loop turn, so that commits issued together are batched. */
  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      this.#start()
    })
  }

  #start(): void {
    while (this.#idle.length > 0 && this.#pending.length > 0) {
      const batch = this.#nextBatch()
      // All waiting commits conflict with running ones and start when those are done.
      if (batch.length === 0) return
      const lane = this.#idle.pop()!
      const run = this.#run(lane, batch).finally(() => {
        for (const pending of batch) this.#footprints.release(pending)
        this.#idle.push(lane)
        this.#running.delete(run)
        this.#start()
      })
      this.#running.add(run)
    }
  }

  #nextBatch(): readonly PendingCommit[] {
    const batch: PendingCommit[] = []
    const rest: PendingCommit[] = []
    let keys = 0
    let bytes = 0
    for (const pending of this.#pending) {
      const keyCount = pending.writes.length + pending.checks.length
      const fits = batch.length === 0 || (keys + keyCount <= BATCH_KEYS_MAX && bytes + pending.bytes <= BATCH_BYTES_MAX)
      if (!fits || !this.#footprints.tryTake(pending)) {
        rest.push(pending)
        continue
      }
      batch.push(pending)
      keys += keyCount
      bytes += pending.bytes
    }
    this.#pending = rest
    return batch
  }

  async #run(lane: ConnectionLane, batch: readonly PendingCommit[]): Promise<void> {
    try {
      this.#cluster.figures.batchSizes.commit.observe(batch.length)
      const failed = await this.#commitBatch(lane, parametersOf(batch))
      for (const [index, { resolve }] of batch.entries()) resolve(!failed.has(index))
    } catch (error) {
      for (const { reject } of batch) reject(error)
    }
    if (++this.#batches % PURGE_EVERY_BATCHES === 0) await this.#purgeTokens(lane)
  }

  /** The minitransactions of the batch whose checks failed; the others were committed. */
  async #commitBatch(lane: ConnectionLane, parameters: readonly Buffer[]): Promise<ReadonlySet<number>> {
    const hasTimedOut = this.#cluster.patience()
    for (;;) {
      const connection = await lane.ready()
      const token = this.#random.bytes(16)
      const sentAt = this.#cluster.clock.elapsed()
      try {
        const values = [token, ...parameters]
        const statement = { name: 'commit', text: this.#sql.commit, values, decode: failedIn }
        const [failed] = await this.#cluster.figures.timed('commit', () => connection.query(statement))
        if (failed === undefined) throw new Error('a commit returned no row')
        return failed
      } catch (error) {
        const failed = wasRefused(error) ? this.#assertTransient(error) : await this.#resolve(lane, token, sentAt)
        if (failed !== undefined) return failed
        // At this point it is certain that nothing was written.
        if (hasTimedOut()) throw new EngineUnavailable(`PostgreSQL does not answer: ${whyOf(error)}`, error)
      }
    }
  }

  #assertTransient(error: unknown): undefined {
    const code = (error as { code?: string }).code ?? ''
    if (code === DISK_FULL) throw new MetaFull(error)
    if (!TRANSIENT.has(code)) throw error
  }

  /**
   * Resolves the outcome of a batch after its connection was lost, however long no primary is found. The token is
   * stored as given up, unless it exists: if the batch is still running this waits for its end, and if it has not begun
   * it can no longer succeed. Undefined: the batch was not committed and never will be.
   */
  async #resolve(lane: ConnectionLane, token: Buffer, sentAt: number): Promise<ReadonlySet<number> | undefined> {
    for (;;) {
      try {
        const connection = await lane.ready()
        const values = [token]
        await connection.query({ name: 'give up', text: this.#sql.giveUp, values, decode: NO_ROW })
        const statement = { name: 'outcome', text: this.#sql.outcome, values, decode: outcomeIn }
        const [outcome] = await connection.query(statement)
        // Later the token may have been forgotten, and its absence would prove nothing.
        if (this.#cluster.clock.elapsed() - sentAt > RESOLVE_MS_MAX) throw new Error('the token has expired')
        return outcome!.failed
      } catch (error) {
        const isTooLate = this.#cluster.clock.elapsed() - sentAt > RESOLVE_MS_MAX
        if (isTooLate || this.#cluster.isClosed) throw new OutcomeUnknown(error)
        await this.#cluster.clock.sleep(RESOLVE_PAUSE_MS)
      }
    }
  }

  /** Tokens are needed only while their outcome may be asked for. A failure here is repaired by the next run. */
  async #purgeTokens(lane: ConnectionLane): Promise<void> {
    try {
      const connection = await lane.ready()
      await connection.query({ name: 'forget', text: this.#sql.forget, values: [], decode: NO_ROW })
    } catch {}
  }

  async close(): Promise<void> {
    while (this.#pending.length > 0 || this.#running.size > 0) {
      await Promise.all(this.#running)
      await new Promise(resolve => setImmediate(resolve))
    }
    await Promise.all(this.#lanes.map(lane => lane.close()))
  }
}
