/**
 * Metadata in LMDB: one file, shared by all worker processes of a server. Reads are memory-mapped and synchronous.
 * Commits that arrive in one event loop turn, or while a write transaction is being synced, share the next write
 * transaction, so that many commits cost one sync.
 */
import { join } from 'node:path'
import { type Clock, systemClock } from '../../lib/clock.ts'
import { type Disk, ensurePrivateFile, realDisk } from '../../lib/disk.ts'
import { type Random, systemRandom } from '../../lib/random.ts'
import { checkCommitLimits, checkKeyLimits } from '../commit-limits.ts'
import {
  type CommitJournal,
  type CommitMark,
  type Entry,
  type EntryPair,
  type JournaledEngine,
  type KeyedRead,
  type KeyedSnapshot,
  type KeyRange,
  MetaFull,
  type MetaStatistics,
  type Minitransaction,
  OutcomeUnknown,
  type Projection,
  type Verification,
} from '../meta.ts'
import {
  addChecksum,
  DirectReads,
  type Durability,
  type EngineRange,
  type LmdbEngine,
  openEngine,
  type VerifiedRecord,
} from './lmdb-engine.ts'

interface LmdbOptions {
  /** The database folder; created when missing. */
  readonly path: string
  /** `os` leaves syncing to the operating system: a power failure loses acknowledged commits. */
  readonly durability?: Durability
  /** Reserved address space in bytes. */
  readonly mapBytes?: number
  readonly disk?: Disk
  readonly random?: Random
  readonly clock?: Clock
}

type RecordProjection<T> = (record: VerifiedRecord, index: number, isVerified: boolean) => T

const EIO = 5
/** ENOSPC, EDQUOT, EFBIG, MDB_MAP_FULL: LMDB gives up before it switches to the new root. */
const NO_SPACE = new Set([28, 122, 27, -30792])
/** With less free space than this, a failed write was a short write. */
const FULL_DISK_FREE_BYTES = 2 ** 20
/** After a failed write of its root page LMDB never responds, so a probe has a timeout. */
const PROBE_MS = 5_000

/** The first stamp of this process: 52 random bits, so that no two processes give one key the same stamp. */
function firstStamp(random: Random): number {
  const bytes = random.bytes(7)
  return (bytes[0]! & 0x0f) * 2 ** 48 + bytes.readUIntBE(1, 6) + 1
}

/** lmdb-js rejects with a generic error that carries the cause as another, rejected promise. */
async function causeOf(error: unknown): Promise<{ readonly code?: unknown }> {
  try {
    await (error as { commitError?: Promise<unknown> }).commitError
    return error as object
  } catch (cause) {
    return cause as object
  }
}

class LmdbMeta implements JournaledEngine {
  readonly #engine: LmdbEngine
  readonly #reads: DirectReads
  readonly #path: string
  readonly #disk: Disk
  readonly #clock: Clock
  #nextStamp: number
  readonly #pending = new Set<{ reject(error: Error): void }>()
  #closed = false
  /** Set by the first commit with an unknown outcome: from then on this process must not write. */
  #broken: OutcomeUnknown | undefined
  #journal: CommitJournal | undefined
  /** The transaction whose commits are resolving. */
  #transaction = 0

  constructor(engine: LmdbEngine, options: LmdbOptions) {
    this.#engine = engine
    this.#reads = new DirectReads(engine)
    this.#path = options.path
    this.#disk = options.disk ?? realDisk
    this.#clock = options.clock ?? systemClock
    this.#nextStamp = firstStamp(options.random ?? systemRandom)
  }

  /** Memory-mapped, so never asynchronous. */
  get(key: Buffer, known?: Entry): Entry | undefined {
    this.#assertOpen()
    checkKeyLimits(key)
    return this.#reads.get(key, known)
  }

  getBoth(first: KeyedRead, second: KeyedRead): EntryPair {
    this.#assertOpen()
    checkKeyLimits(first.key)
    checkKeyLimits(second.key)
    return this.#reads.getBoth(first, second)
  }

  async scan(range: KeyRange, limit: number, reverse = false): Promise<readonly Entry[]> {
    this.#assertOpen()
    this.#engine.resetReadTxn()
    return this.#records(engineRange(range, limit, reverse), copyRecord)
  }

  async scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]> {
    this.#assertOpen()
    this.#engine.resetReadTxn()
    return this.#records(engineRange(range, limit, false), make, verify)
  }

  #records<T>(range: EngineRange | undefined, make: RecordProjection<T>, verify?: Verification): readonly T[] {
    const results: T[] = []
    if (range === undefined) return results
    const records = this.#engine.getRange(range)[Symbol.iterator]()
    try {
      for (let next = records.next(); next.done !== true; next = records.next()) {
        const record = next.value.value
        const isVerified = verify?.(record) ?? false
        if (!isVerified) record.mustBeSound()
        results.push(make(record, results.length, isVerified))
      }
    } catch (error) {
      // An open cursor would retain pages that are deleted later.
      records.return?.()
      throw error
    }
    return results
  }

  async snapshot(): Promise<KeyedSnapshot> {
    this.#assertOpen()
    this.#engine.resetReadTxn()
    const transaction = this.#engine.useReadTransaction()
    let ended = false
    return {
      scan: async (range, limit) => {
        if (ended) throw new Error('the snapshot has ended')
        this.#assertOpen()
        const wanted = engineRange(range, limit, false)
        return this.#records(wanted && { ...wanted, transaction }, copyRecord)
      },
      has: key => {
        if (ended) throw new Error('the snapshot has ended')
        this.#assertOpen()
        return this.#engine.getBinaryFast(key, { transaction }) !== undefined
      },
      async end() {
        if (!ended) transaction.done()
        ended = true
      },
    }
  }

  commit(tx: Minitransaction): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#assertOpen()
      if (this.#broken !== undefined) throw this.#broken
      checkCommitLimits(tx)
      const journal = this.#journal
      const mark = journal?.begin(tx.writes, this.#nextStamp)
      const results = this.#issue(tx, mark)
      const pending = { reject }
      this.#pending.add(pending)
      let open = results.length
      let isCommitted = true
      const onResult = (result: boolean): void => {
        isCommitted &&= result
        if (--open > 0) return
        this.#pending.delete(pending)
        // Before the commit resolves: afterwards the buffers belong to the caller.
        if (mark !== undefined) this.#notifyJournal(journal!, mark, isCommitted, tx)
        resolve(isCommitted)
      }
      const onError = async (error: unknown): Promise<void> => {
        reject(await this.#failure(error))
        this.#pending.delete(pending)
      }
      // One handler each instead of Promise.all: this is the hottest path.
      for (const result of results) result.then(onResult, onError)
    })
  }

  attachJournal(journal: CommitJournal): void {
    if (this.#journal !== undefined) throw new Error('the engine already has a journal')
    this.#journal = journal
    this.#transaction = this.lastTransaction()
    this.#engine.on('aftercommit', ({ txnId }) => {
      // Zero before the first one: there was nothing to commit.
      if (txnId === undefined || txnId === 0) return
      // Commits of this transaction resolve in later microtasks, those of the next after its own event.
      queueMicrotask(() => {
        this.#transaction += (txnId - this.#transaction) >>> 0
      })
    })
  }

  #notifyJournal(journal: CommitJournal, mark: CommitMark, isCommitted: boolean, tx: Minitransaction): void {
    if (!isCommitted) journal.aborted(mark)
    // After an unknown outcome the order of commits is unknown.
    else if (this.#broken === undefined) journal.committed(mark, this.#transaction, tx.writes)
  }

  lastStamp(): number {
    return this.#nextStamp - 1
  }

  lastTransaction(): number {
    this.#assertOpen()
    return this.#engine.env.info().lastTxnId
  }

  /** Issues the commit synchronously, so that no other can be interleaved. */
  #issue(tx: Minitransaction, mark: CommitMark | undefined): readonly Promise<boolean>[] {
    const results: Promise<boolean>[] = []
    const write = (): void => this.#write(tx, mark)
    try {
      if (tx.checks.length === 0) results.push(this.#engine.batch(write))
      else this.#nest(tx, 0, results, write)
    } catch (error) {
      // The engine may have accepted a part of it.
      throw this.#break(error)
    }
    return results
  }

  /**
   * Checks are nested, and all writes are in the innermost one. Two commits must not share an outer condition and no
   * write may be conditional by itself: inside a condition that fails, lmdb-js 3.5 treats "the key is absent" as true
   * and would apply the writes after it. For the same reason all results count, not just the innermost.
   */
  #nest(tx: Minitransaction, depth: number, results: Promise<boolean>[], write: () => void): void {
    const check = tx.checks[depth]
    if (check === undefined) {
      write()
      return
    }
    const inside = (): void => this.#nest(tx, depth + 1, results, write)
    const { key, stamp } = check
    results.push(
      stamp === undefined ? this.#engine.ifNoExists(key, inside) : this.#engine.ifVersion(key, stamp, inside),
    )
  }

  #write(tx: Minitransaction, mark: CommitMark | undefined): void {
    for (const { key, value } of tx.writes) {
      if (value === undefined) this.#engine.remove(key)
      else this.#engine.put(key, addChecksum(key, value), this.#nextStamp++)
    }
    const note = mark?.slot === undefined ? undefined : this.#journal!.noteOf(mark, tx.writes)
    if (note !== undefined) this.#engine.put(note.key, addChecksum(note.key, note.value), this.#nextStamp++)
  }

  async #failure(error: unknown): Promise<Error> {
    const cause = await causeOf(error)
    if (typeof cause.code === 'number' && NO_SPACE.has(cause.code)) return new MetaFull(cause)
    if (cause.code === EIO && (await this.#wasShortWrite())) return new MetaFull(cause)
    return this.#break(cause)
  }

  /**
   * LMDB reports a write that a full disk cut short as EIO. That is harmless: pages are written before the root that
   * references them. An EIO counts as "no space" if the disk is full and the environment still accepts a transaction,
   * which it does not after a failed write of its root page. Every other EIO is a failed sync or root.
   */
  async #wasShortWrite(): Promise<boolean> {
    if ((await this.#disk.free(this.#path)) >= FULL_DISK_FREE_BYTES) return false
    const probe = this.#engine.batch(() => {}).catch(causeOf)
    const outcome = await Promise.race([probe, this.#clock.sleep(PROBE_MS)])
    // After a failed root every transaction is rejected. One that fails for lack of space confirms the full disk.
    const code = (outcome as { readonly code?: unknown } | undefined)?.code
    return outcome === true || code === EIO || (typeof code === 'number' && NO_SPACE.has(code))
  }

  /** The engine may never settle pending commits, so all of them are rejected here. */
  #break(cause: unknown): OutcomeUnknown {
    this.#broken ??= new OutcomeUnknown(cause)
    for (const { reject } of this.#pending) reject(this.#broken)
    this.#pending.clear()
    return this.#broken
  }

  async statistics(): Promise<MetaStatistics> {
    this.#assertOpen()
    this.#engine.resetReadTxn()
    const { pageSize, entryCount, mapSize, lastPageNumber, numReaders } = this.#engine.getStats()
    const usedBytes = (lastPageNumber + 1) * pageSize
    return { mapBytes: mapSize, usedBytes, entries: entryCount, readers: numReaders }
  }

  #assertOpen(): void {
    if (this.#closed) throw new Error('the metadata engine is closed')
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#reads.close()
    await this.#engine.close()
  }
}

/** LMDB has no empty key; a zero byte is the least key. */
const LEAST_KEY = Buffer.from([0])

const copyRecord = (record: VerifiedRecord): Entry => record.copy()

/** Undefined for an empty range. */
function engineRange(range: KeyRange, limit: number, reverse: boolean): EngineRange | undefined {
  if (limit <= 0 || (range.end !== undefined && Buffer.compare(range.start, range.end) >= 0)) return undefined
  const start = range.start.length === 0 ? LEAST_KEY : range.start
  if (!reverse) return { start, ...(range.end && { end: range.end }), limit }
  // A reverse range of lmdb-js starts at its upper end.
  const from = range.end && { start: range.end, exclusiveStart: true }
  return { ...from, end: start, inclusiveEnd: true, reverse, limit }
}

export async function openLmdbMeta(options: LmdbOptions): Promise<JournaledEngine> {
  const disk = options.disk ?? realDisk
  await disk.makeFolder(options.path)
  // LMDB creates world-readable files; it treats an existing empty file as new.
  for (const name of ['data.mdb', 'lock.mdb']) await ensurePrivateFile(join(options.path, name))
  const engine = await openEngine(options.path, options.durability ?? 'fsync', options.mapBytes)
  await disk.syncFolder(options.path)
  return new LmdbMeta(engine, options)
}
