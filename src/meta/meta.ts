/**
 * Ordered records and minitransactions: the interface between the store and a metadata engine. A driver knows bytes,
 * not buckets. It guarantees atomic, serializable commits that are durable when `commit` resolves, and keys in memcmp
 * order.
 */

import type { BucketCounts } from '../lib/bucket-counts.ts'
import { type ByteSpan, copyOf } from '../lib/bytes.ts'
import { key } from '../lib/keys.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'

/** Changes with every write of the key: equal stamps mean that the record has not been written in between. Opaque. */
export type Stamp = number

export interface Entry {
  readonly key: Buffer
  /** Owned by the caller: a driver never changes it afterwards. */
  readonly value: Buffer
  readonly stamp: Stamp
  /** Decoded form, cached by the code that reads the value. Drivers ignore it. */
  decoded?: unknown
}

/** An entry within a larger buffer. One that a callback borrows is overwritten when the callback returns. */
export interface EntryView {
  readonly key: ByteSpan
  readonly value: ByteSpan
  readonly stamp: Stamp
}

/**
 * Maps each entry of a range to a result. It must not read from the engine. `isVerified` is true when the scan's
 * `Verification` accepted the entry just before.
 */
export type Projection<T> = (entry: EntryView, index: number, isVerified: boolean) => T

/** Verifies the part of an entry that the projection uses, by a checksum within its value. */
export type Verification = (entry: EntryView) => boolean

/** From `start` inclusive to `end` exclusive; without `end`, to the last key. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer | undefined
}

/** Requires the key to have this stamp, or to be absent (`undefined`). */
export interface Check {
  readonly key: Buffer
  readonly stamp: Stamp | undefined
}

/** Put, or delete when there is no value. */
export interface Write {
  readonly key: Buffer
  readonly value: Buffer | undefined
}

/** The driver owns the buffers until the commit has resolved; afterwards the caller may reuse them. */
export interface Minitransaction {
  readonly checks: readonly Check[]
  /** At most one write per key. */
  readonly writes: readonly Write[]
}

/** All records as of one point in time. Must be ended soon: until then the engine retains replaced records. */
export interface Snapshot {
  scan(range: KeyRange, limit: number): Promise<readonly Entry[]>
  end(): Promise<void>
}

/** A record to read, with an earlier read of it that may still be current. */
export interface KeyedRead {
  readonly key: Buffer
  readonly known?: Entry | undefined
}

/** A range and single records, all as of one point in time. */
export interface ScanWithKeys {
  /** Not overwritten later, but to be used soon: they keep what arrived with them in memory. */
  readonly entries: readonly EntryView[]
  readonly records: readonly (Entry | undefined)[]
}

export type RoundTrip = 'get' | 'scan' | 'commit'

/** Figures for operators about an engine behind a network, of this process. */
export interface RemoteFigures {
  readonly roundTripSeconds: Readonly<Record<RoundTrip, BucketCounts>>
  /** Keys of a batch of gets, and minitransactions of a batch of commits. */
  readonly batchSizes: Readonly<Record<'get' | 'commit', BucketCounts>>
  readonly connectionsOpen: number
  /** Connections that are being searched for. */
  readonly connectionsWanted: number
  readonly connects: number
  /** Searches at all addresses that found no primary. */
  readonly failedSearches: number
}

/**
 * Reads of an engine behind a network, where a round trip costs more than the read. Everything that one call returns
 * existed at the same time.
 */
export interface RemoteReads {
  getMany(reads: readonly KeyedRead[]): Promise<readonly (Entry | undefined)[]>
  /** With `headsOnly`, values in the range may be cut to their first `HEAD_BYTES`. */
  scanWithKeys(range: KeyRange, limit: number, reads: readonly KeyedRead[], headsOnly?: boolean): Promise<ScanWithKeys>
  readonly figures?: RemoteFigures | undefined
  /** The clock of the engine's machine, where it has one of its own: milliseconds since 1970, UTC. */
  serverTime?(): Promise<number>
}

export type EntryPair = readonly [Entry | undefined, Entry | undefined]

export interface Meta {
  /** Absent where `get` answers from memory: reading ahead would then cost time and save none. */
  readonly remote?: RemoteReads | undefined
  /** `known` is an earlier read of the key, which is returned while the record still has its stamp. */
  get(key: Buffer, known?: Entry): MaybePromise<Entry | undefined>
  /** Two records as of the same moment; absent where `get` does not answer from memory. */
  getBoth?(first: KeyedRead, second: KeyedRead): EntryPair
  /** Up to `limit` entries in key order; `reverse` starts at the end of the range. */
  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]>
  /**
   * Projects up to `limit` entries in key order. Entries are borrowed, which saves copies. An engine with checksums
   * verifies every entry that `verify` does not accept; others may ignore it.
   */
  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]>
  /**
   * True: every write is durable. False: a check failed and nothing was written. Rejects with `MetaFull` when nothing
   * was written for lack of space, with `EngineUnavailable` when nothing was written because the engine cannot be
   * reached, with `OutcomeUnknown` when it may or may not have been, and with a RangeError when
   * the commit exceeds `META_LIMITS`.
   */
  commit(tx: Minitransaction): Promise<boolean>
  /** Figures for operators, where the engine has them. */
  statistics?(): Promise<MetaStatistics>
  close(): Promise<void>
}

export interface MetaStatistics {
  readonly mapBytes: number
  /** Bytes of the file that are or were in use. */
  readonly usedBytes: number
  readonly entries: number
  readonly readers: number
}

/** The result of opening a driver. The store uses the records; a backup uses a snapshot of them. */
export interface MetaEngine extends Meta {
  /** Includes everything committed before the call. */
  snapshot(): Promise<Snapshot>
}

const wholeSpan = (bytes: Buffer): ByteSpan => ({ bytes, start: 0, end: bytes.length })

export const viewOf = ({ key, value, stamp }: Entry): EntryView => ({
  key: wholeSpan(key),
  value: wholeSpan(value),
  stamp,
})

export const copyOfView = ({ key, value, stamp }: EntryView): Entry => ({
  key: copyOf(key),
  value: copyOf(value),
  stamp,
})

/** For engines whose entries are copies anyway. */
export function scanMapAll<T>(entries: readonly Entry[], make: Projection<T>): readonly T[] {
  return entries.map((entry, index) => make(viewOf(entry), index, false))
}

/** Most records have what listings show, and its checksum, within these bytes. */
export const HEAD_BYTES = 512

/** Projects values that may have been cut; undefined when one was cut that `verify` does not accept. */
export function scanMapHeads<T>(
  entries: readonly EntryView[],
  make: Projection<T>,
  verify: Verification,
): readonly T[] | undefined {
  const projected: T[] = []
  for (const entry of entries) {
    const mayBeCut = entry.value.end - entry.value.start >= HEAD_BYTES
    if (mayBeCut && !verify(entry)) return undefined
    projected.push(make(entry, projected.length, mayBeCut))
  }
  return projected
}

export interface KeyedSnapshot extends Snapshot {
  /** Whether a lookup of this key finds a record; the record is not verified. */
  has(key: Buffer): boolean
}

/** An engine on a local disk with a second copy: it reports each commit to a journal. */
export interface JournaledEngine extends MetaEngine {
  snapshot(): Promise<KeyedSnapshot>
  /** Can be called once; affects later commits. */
  attachJournal(journal: CommitJournal): void
  /** The greatest stamp assigned by this process; one less than its first before that. */
  lastStamp(): number
  /** Number of the last transaction of any process. */
  lastTransaction(): number
}

/** Receives commits. No method is asynchronous or can fail a commit. */
export interface CommitJournal {
  /** Called before a commit; its puts get stamps from `firstStamp` on. */
  begin(writes: readonly Write[], firstStamp: number): CommitMark
  /** A record that the journal adds to the same commit. */
  noteOf(mark: CommitMark, writes: readonly Write[]): { readonly key: Buffer; readonly value: Buffer } | undefined
  aborted(mark: CommitMark): void
  committed(mark: CommitMark, transaction: number, writes: readonly Write[]): void
}

/** A commit in progress as the journal tracks it. */
export interface CommitMark {
  readonly seq: number
  readonly firstStamp: number
  /** Slot of its deletion note; undefined when it deletes nothing. */
  readonly slot: number | undefined
  readonly writer: Buffer
}

/** Records of the engine itself, which concern its folder alone; no other code writes them. */
export const ENGINE_KEYS: Buffer = key('x', 'journal')

/** Limits that all drivers share, so that engines are interchangeable. No key is empty. */
export const META_LIMITS = {
  keyBytesMax: 1_800,
  valueBytesMax: 100_000,
  commitBytesMax: 1_000_000,
  commitKeysMax: 256,
} as const

/** A stored record does not match its checksum: reported, never returned. */
export class DamagedRecord extends Error {
  readonly key: Buffer
  constructor(key: Buffer) {
    super(`metadata record ${key.toString('hex').slice(0, 64)} does not match its checksum`)
    this.name = 'DamagedRecord'
    this.key = key
  }
}

/** The engine is out of space: nothing of this commit was written, and reads still work. */
export class MetaFull extends Error {
  constructor(cause: unknown) {
    super('the metadata engine is out of space', { cause })
    this.name = 'MetaFull'
  }
}

/** It is unknown whether the commit took effect. The process must not acknowledge it and must restart. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the outcome of a metadata commit is unknown', { cause })
    this.name = 'OutcomeUnknown'
  }
}
