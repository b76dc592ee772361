/**
 * Opens LMDB with the options under which "committed" means "on stable storage", and makes sure that these are the
 * options it really runs with. lmdb-js by default resolves a write when it is visible, before it is synced.
 */
import * as lmdb from 'lmdb'
import type { Entry } from '../meta.ts'
import { OpenedRecord, openValue } from './sealed-value.ts'

/** The part of lmdb-js that the driver uses. `getBinaryFast` returns a buffer that the next read overwrites. */
export interface LmdbEngine {
  getBinaryFast(key: Buffer, options?: { readonly transaction: ReadTransaction }): Buffer | undefined
  /** Each record is good until the next is asked for. */
  getRange(options: EngineRange): Iterable<{ value: OpenedRecord }>
  /** Ends the cached read snapshot, so that the next read sees everything committed by any process. */
  resetReadTxn(): void
  /** A read snapshot that stays as it is until it is done. */
  useReadTransaction(): ReadTransaction
  put(key: Buffer, value: Buffer, version: number): unknown
  remove(key: Buffer): unknown
  ifVersion(key: Buffer, version: number, inside: () => void): Promise<boolean>
  ifNoExists(key: Buffer, inside: () => void): Promise<boolean>
  /** Everything issued inside is in one write transaction. */
  batch(inside: () => void): Promise<boolean>
  getStats(): EngineStats
  /** Called with the transaction's number, of which 32 bits are left, before its commits are answered. */
  on(event: 'aftercommit', call: (committed: { readonly txnId?: number }) => void): void
  close(): Promise<void>
  readonly env: { readonly address: number; info(): { readonly lastTxnId: number } }
}

/** The part of lmdb-js's figures that is shown; its own types leave them open. */
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

/** Version of the record that was read last. */
export const lastVersion = (): number => lmdb.getLastVersion()

/** Everything that would let a commit resolve before it is on stable storage (MDB_* flags of the environment). */
const WEAKENING = {
  overlappingSync: 0x1000,
  noSync: 0x10000,
  noMetaSync: 0x40000,
  writeMap: 0x80000,
  mapAsync: 0x100000,
}
const WEAKENING_MASK = Object.values(WEAKENING).reduce((mask, flag) => mask | flag, 0)

/**
 * So many instructions start a transaction before the turn is over: about sixteen commits of five each. The writer then
 * works on them while this thread prepares the next, which share the transaction or the one after it. A commit itself
 * is never cut: inside a condition the writer waits for the rest.
 */
const START_INSTRUCTIONS = 80

/** Address space only: the file grows with what is stored. */
const MAP_BYTES = 2 ** 40

/** What lmdb-js exports of its native part, without a type. */
interface Native {
  /** mdb_env_get_flags. */
  getEnvFlags(address: number): number
  /** mdb_txn_begin; the next read through it after a reset renews it. */
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
 * Single reads, each of what is committed by any process when it begins. lmdb-js by itself keeps the snapshot of a read
 * for a millisecond, and makes a timer for each: here it ends with the read.
 */
export class DirectReads {
  readonly #engine: LmdbEngine
  readonly #options: { readonly transaction: NativeTransaction }

  constructor(engine: LmdbEngine) {
    this.#engine = engine
    this.#options = { transaction: new native.Txn(engine.env, READ_ONLY) }
    this.#end()
  }

  /** The record; what is known of it already where it still has that stamp. */
  get(key: Buffer, known: Entry | undefined): Entry | undefined {
    // Whatever has read through it meanwhile: this is a moment of its own.
    this.#end()
    try {
      const sealed = this.#engine.getBinaryFast(key, this.#options)
      if (sealed === undefined) return undefined
      const stamp = lastVersion()
      if (known !== undefined && known.stamp === stamp) return known
      // A copy: the next read overwrites this one. Its `length` is set by hand to that of what was read.
      return { key, value: openValue(key, sealed), stamp }
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
 * A range gives out the same record again and again, and with it the memory that the engine reads into; by itself
 * lmdb-js makes two new arrays for each, which costs more than reading it. It asks for the key first.
 */
function readRangesInPlace(engine: LmdbEngine): void {
  const record = new OpenedRecord()
  Object.assign(engine, {
    readKey: (bytes: Uint8Array, start: number, end: number): void => record.key.set(bytes, start, end),
    decoder: { decode: (sealed: Uint8Array, length: number) => record.open(sealed, length, lastVersion()) },
    decoderCopies: true,
  })
}

export async function openEngine(path: string, durability: Durability, mapBytes = MAP_BYTES): Promise<LmdbEngine> {
  const engine = lmdb.open({
    path,
    // Without this, a folder name with a dot in it would be taken for the name of a file.
    noSubdir: false,
    keyEncoding: 'binary',
    encoding: 'binary',
    useVersions: true,
    overlappingSync: false,
    noSync: durability === 'os',
    maxReaders: 1024,
    mapSize: mapBytes,
    // Commits of one turn of the event loop share a transaction: it starts at the end of the turn, or as soon as a
    // good number of them is there. The other way to get it, eventTurnBatching, has a promise of its own that nobody
    // can reach and that ends the process with an unhandled rejection when a commit fails.
    eventTurnBatching: false,
    txnStartThreshold: START_INSTRUCTIONS,
  } as lmdb.RootDatabaseOptionsWithPath) as unknown as LmdbEngine
  readRangesInPlace(engine)
  // An environment that is open in this process already keeps the flags it was opened with, whatever is asked for.
  const flags = native.getEnvFlags(engine.env.address)
  const wanted = durability === 'os' ? WEAKENING.noSync : 0
  if ((flags & WEAKENING_MASK) !== wanted) {
    await engine.close()
    throw new Error(
      `LMDB at ${path} runs with ${weakenings(flags)}; durability '${durability}' needs ${weakenings(wanted)}`,
    )
  }
  return engine
}
