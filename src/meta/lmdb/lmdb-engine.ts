/**
 * Opens LMDB with options under which "committed" means "on stable storage", and verifies that it really runs with
 * them. By default lmdb-js resolves a write when it is visible, before it is synced.
 */
import * as lmdb from 'lmdb'
import type { Entry } from '../meta.ts'
import { VerifiedRecord, verifyChecksum } from './checksummed-value.ts'

/** The part of lmdb-js that the driver uses. `getBinaryFast` returns a buffer that the next read overwrites. */
export interface LmdbEngine {
  getBinaryFast(key: Buffer, options?: { readonly transaction: ReadTransaction }): Buffer | undefined
  /** Each record is valid until the next is requested. */
  getRange(options: EngineRange): Iterable<{ value: VerifiedRecord }>
  /** Ends the cached read snapshot, so that the next read sees everything committed by any process. */
  resetReadTxn(): void
  /** A read snapshot that is stable until `done`. */
  useReadTransaction(): ReadTransaction
  put(key: Buffer, value: Buffer, version: number): unknown
  remove(key: Buffer): unknown
  ifVersion(key: Buffer, version: number, inside: () => void): Promise<boolean>
  ifNoExists(key: Buffer, inside: () => void): Promise<boolean>
  /** Everything issued inside shares one write transaction. */
  batch(inside: () => void): Promise<boolean>
  getStats(): EngineStats
  /** Called with the transaction's number, truncated to 32 bits, before its commits resolve. */
  on(event: 'aftercommit', call: (committed: { readonly txnId?: number }) => void): void
  close(): Promise<void>
  readonly env: { readonly address: number; info(): { readonly lastTxnId: number } }
}

/** The statistics of lmdb-js that are used; its own types omit them. */
interface EngineStats {
  readonly pageSize: number
  readonly entryCount: number
  readonly mapSize: number
  readonly lastPageNumber: number
  readonly numReaders: number
}

export interface ReadTransaction {
  done(): void
}

export interface EngineRange {
  readonly start?: Buffer
  readonly end?: Buffer
  readonly limit: number
  readonly reverse?: boolean
  readonly exclusiveStart?: boolean
  readonly inclusiveEnd?: boolean
  readonly transaction?: ReadTransaction
}

export type Durability = 'fsync' | 'os'

/** Version of the record read last. */
export const lastVersion = (): number => lmdb.getLastVersion()

/** Environment flags (MDB_*) that let a commit resolve before it is on stable storage. */
const WEAKENING = {
  overlappingSync: 0x1000,
  noSync: 0x10000,
  noMetaSync: 0x40000,
  writeMap: 0x80000,
  mapAsync: 0x100000,
}
const WEAKENING_MASK = Object.values(WEAKENING).reduce((mask, flag) => mask | flag, 0)

/**
 * This many instructions start a transaction before the event loop turn ends: about sixteen commits of five each. The
 * writer then works on them while this thread prepares more, which share that transaction or the next. A commit itself
 * is never split: inside a condition the writer waits for the rest.
 */
const START_INSTRUCTIONS = 80

/** Address space only: the file grows with its content. */
const MAP_BYTES = 2 ** 40

/** The native part of lmdb-js, which it exports without types. */
interface Native {
  /** mdb_env_get_flags. */
  getEnvFlags(address: number): number
  /** mdb_txn_begin; a read through it after a reset renews it. */
  readonly Txn: new (
    environment: LmdbEngine['env'],
    flags: number,
  ) => NativeTransaction
  /** mdb_txn_reset. */
  resetTxn(address: number): void
}

interface NativeTransaction extends ReadTransaction {
  readonly address: number
  abort(): void
}

const native = (lmdb as unknown as { nativeAddon: Native }).nativeAddon
const READ_ONLY = 0x20000

/**
 * Single reads, each of the latest state committed by any process. lmdb-js itself keeps the snapshot of a read for a
 * millisecond and creates a timer for it; here it ends with the read.
 */
export class DirectReads {
  readonly #engine: LmdbEngine
  readonly #options: { readonly transaction: NativeTransaction }

  constructor(engine: LmdbEngine) {
    this.#engine = engine
    this.#options = { transaction: new native.Txn(engine.env, READ_ONLY) }
    this.#end()
  }

  /** The record, or `known` if that still has the current stamp. */
  get(key: Buffer, known: Entry | undefined): Entry | undefined {
    // Another read may have used the transaction: start from the latest state.
    this.#end()
    try {
      const sealed = this.#engine.getBinaryFast(key, this.#options)
      if (sealed === undefined) return undefined
      const stamp = lastVersion()
      if (known !== undefined && known.stamp === stamp) return known
      // Copied, because the next read overwrites the buffer. lmdb-js sets its `length` to that of the value.
      return { key, value: verifyChecksum(key, sealed), stamp }
    } finally {
      this.#end()
    }
  }

  #end(): void {
    native.resetTxn(this.#options.transaction.address)
  }

  close(): void {
    this.#options.transaction.abort()
  }
}

function weakenings(flags: number): string {
  const names = Object.entries(WEAKENING).filter(([, flag]) => (flags & flag) !== 0)
  return names.map(([name]) => name).join(', ') || 'none'
}

/**
 * Makes ranges reuse one record object and the engine's read buffer; lmdb-js itself creates two arrays per record,
 * which costs more than reading it. The key is read first.
 */
function readRangesInPlace(engine: LmdbEngine): void {
  const record = new VerifiedRecord()
  Object.assign(engine, {
    readKey: (bytes: Uint8Array, start: number, end: number): void => record.key.set(bytes, start, end),
    decoder: { decode: (sealed: Uint8Array, length: number) => record.open(sealed, length, lastVersion()) },
    decoderCopies: true,
  })
}

export async function openEngine(path: string, durability: Durability, mapBytes = MAP_BYTES): Promise<LmdbEngine> {
  const engine = lmdb.open({
    path,
    // Otherwise a folder name with a dot would be treated as a file name.
    noSubdir: false,
    keyEncoding: 'binary',
    encoding: 'binary',
    useVersions: true,
    overlappingSync: false,
    noSync: durability === 'os',
    maxReaders: 1024,
    mapSize: mapBytes,
    // Commits of one event loop turn share a transaction: it starts at the end of the turn, or once enough of them are
    // queued. The alternative, eventTurnBatching, has an unreachable promise that ends the process with an unhandled
    // rejection when a commit fails.
    eventTurnBatching: false,
    txnStartThreshold: START_INSTRUCTIONS,
  } as lmdb.RootDatabaseOptionsWithPath) as unknown as LmdbEngine
  readRangesInPlace(engine)
  // An environment that is already open in this process keeps its original flags, whatever is requested.
  const flags = native.getEnvFlags(engine.env.address)
  const expected = durability === 'os' ? WEAKENING.noSync : 0
  if ((flags & WEAKENING_MASK) !== expected) {
    await engine.close()
    throw new Error(
      `LMDB at ${path} runs with ${weakenings(flags)}; durability '${durability}' needs ${weakenings(expected)}`,
    )
  }
  return engine
}
