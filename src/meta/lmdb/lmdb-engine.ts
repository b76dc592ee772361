/**
 * Opens LMDB with options under which "committed" means "on stable storage", and verifies that it really runs with
 * them. By default lmdb-js resolves a write when it is visible, before it is synced.
 *
 * LMDB's pages have no checksum, so every value carries its own: CRC-32 over key and value, then the value. The key is
 * included because a damaged page can also lead a search to an intact record of another key.
 */
import * as lmdb from 'lmdb'
import { Slab } from '../../lib/buffer-pool.ts'
import type { ByteSpan } from '../../lib/bytes.ts'
import { crc32, crc32Of } from '../../lib/crc.ts'
import { DamagedRecord, type Entry, type EntryPair, type EntryView, type KeyedRead } from '../meta.ts'

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

interface ReadTransaction {
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
const lastVersion = (): number => lmdb.getLastVersion()

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
      return this.#read(key, known)
    } finally {
      this.#end()
    }
  }

  /** Two records of one state. */
  getBoth(first: KeyedRead, second: KeyedRead): EntryPair {
    this.#end()
    try {
      return [this.#read(first.key, first.known), this.#read(second.key, second.known)]
    } finally {
      this.#end()
    }
  }

  /** Begins the transaction after its end, otherwise reads the state that it has. */
  #read(key: Buffer, known: Entry | undefined): Entry | undefined {
    const sealed = this.#engine.getBinaryFast(key, this.#options)
    if (sealed === undefined) return undefined
    const stamp = lastVersion()
    if (known !== undefined && known.stamp === stamp) return known
    // Copied, because the next read overwrites the buffer. lmdb-js sets its `length` to that of the value.
    return { key, value: verifyChecksum(key, sealed), stamp }
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

const CHECKSUM_BYTES = 4

/**
 * Sealed values are allocated from slabs: lmdb-js asks the runtime for the address of every new ArrayBuffer, which
 * together with its allocation costs more than copy and checksum.
 */
const slab = new Slab(2 ** 20)

/** A new buffer, because the engine reads it from another thread. */
export function addChecksum(key: Buffer, value: Buffer): Buffer {
  const out = slab.cut(CHECKSUM_BYTES + value.length)
  out.writeUInt32BE(crc32Of(value, 0, value.length, crc32Of(key, 0, key.length)) >>> 0, 0)
  out.set(value, CHECKSUM_BYTES)
  return out
}

/**
 * Values read are allocated from these. They are small, since inline bytes live until their client has received them,
 * and keep their slab alive.
 */
const readSlab = new Slab(2 ** 16)

/** The engine reads everything into the same memory and returns the same array, whose `length` it sets. */
class EngineSpan implements ByteSpan {
  #source: Uint8Array | undefined
  bytes: Buffer = Buffer.alloc(0)
  start = 0
  end = 0

  set(source: Uint8Array, start: number, end: number): void {
    if (source !== this.#source) {
      this.#source = source
      this.bytes = Buffer.from(source.buffer as ArrayBuffer, source.byteOffset, source.byteLength)
    }
    this.start = start
    this.end = end
  }

  copyTo(out: Buffer, at: number): void {
    const { bytes, start, end } = this
    if (end > start) out.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), at)
  }
}

const storedChecksum = (sealed: Uint8Array): number =>
  ((sealed[0]! << 24) | (sealed[1]! << 16) | (sealed[2]! << 8) | sealed[3]!) >>> 0

/** The record read last, in the engine's buffer. */
export class VerifiedRecord implements EntryView {
  readonly key = new EngineSpan()
  readonly value = new EngineSpan()
  stamp = 0
  #hasChecksum = false

  /** `sealed` is valid up to `length`. Nothing is verified yet. */
  open(sealed: Uint8Array, length: number, stamp: number): this {
    this.value.set(sealed, CHECKSUM_BYTES, Math.max(CHECKSUM_BYTES, length))
    this.#hasChecksum = length >= CHECKSUM_BYTES
    this.stamp = stamp
    return this
  }

  /** Verifies the whole record. */
  mustBeSound(): void {
    const { key, value } = this
    const { bytes } = value
    const found = crc32Of(bytes, value.start, value.end, crc32Of(key.bytes, key.start, key.end)) >>> 0
    if (!this.#hasChecksum || found !== storedChecksum(bytes)) {
      throw new DamagedRecord(Buffer.from(key.bytes.subarray(key.start, key.end)))
    }
  }

  /** Copies key and value into one buffer. */
  copy(): Entry {
    const { bytes, start, end } = this.key
    const keyBytes = end - start
    const both = readSlab.cut(keyBytes + this.value.end - this.value.start)
    // Keys are short: a loop costs less than another view.
    for (let i = 0; i < keyBytes; i++) both[i] = bytes[start + i]!
    this.value.copyTo(both, keyBytes)
    return { key: both.subarray(0, keyBytes), value: both.subarray(keyBytes), stamp: this.stamp }
  }
}

/** Verifies and copies the value sealed under this key. */
export function verifyChecksum(key: Buffer, sealed: Uint8Array): Buffer {
  const { length } = sealed
  const value = readSlab.cut(Math.max(0, length - CHECKSUM_BYTES))
  if (value.length > 0) value.set(new Uint8Array(sealed.buffer, sealed.byteOffset + CHECKSUM_BYTES, value.length))
  const found = crc32(value, crc32Of(key, 0, key.length)) >>> 0
  if (length < CHECKSUM_BYTES || found !== storedChecksum(sealed)) throw new DamagedRecord(Buffer.from(key))
  return value
}
