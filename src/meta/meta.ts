/**
 * Ordered records and minitransactions: the whole seam between the store and a metadata engine. A driver knows bytes,
 * not buckets. It promises: all or nothing, serializable, durable when `commit` resolves, keys in memcmp order.
 */

import type { ByteSpan } from '../lib/bytes.ts'
import { key } from '../lib/keys.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'

/** Changes with every write of the key; equal stamps mean the record has not been written in between. Opaque. */
export type Stamp = number

export interface Entry {
  readonly key: Buffer
  /** Owned by the caller: a driver never changes it afterwards. */
  readonly value: Buffer
  readonly stamp: Stamp
  /** For whoever reads the value: what it made of it. A driver leaves it alone. */
  read?: unknown
}

/** An entry where the engine has it. It is overwritten as soon as the call that got it is over. */
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

/** Whether an entry is sound as far as it will be looked at, by a checksum that its value has for that part of it. */
export type Verification = (entry: EntryView) => boolean

/** From `start` inclusive to `end` exclusive; no `end` means to the last key. */
export interface KeyRange {
  readonly start: Buffer
  readonly end: Buffer | undefined
}

/** The key has this stamp, or is absent (`undefined`). */
export interface Check {
  readonly key: Buffer
  readonly stamp: Stamp | undefined
}

/** Put, or delete when there is no value. */
export interface Write {
  readonly key: Buffer
  readonly value: Buffer | undefined
}

/** The buffers belong to the driver until the commit has resolved; afterwards the caller may use them again. */
export interface Minitransaction {
  readonly checks: readonly Check[]
  /** At most one write per key. */
  readonly writes: readonly Write[]
}

/** All records as they were at one moment. To be ended soon: until then the engine keeps what was replaced since. */
export interface Snapshot {
  scan(range: KeyRange, limit: number): Promise<readonly Entry[]>
  end(): Promise<void>
}

export interface Meta {
  /** `known` is an earlier reading of the key: while the record still has its stamp, that is what it may give back. */
  get(key: Buffer, known?: Entry): MaybePromise<Entry | undefined>
  /** Up to `limit` entries in key order; `reverse` starts at the end of the range. */
  scan(range: KeyRange, limit: number, reverse?: boolean): Promise<readonly Entry[]>
  /**
   * What is made of up to `limit` entries in key order. They are lent, so that nobody copies what nobody keeps. An
   * engine with checksums checks the whole of each entry that `verify` does not verify for; one without may not ask it.
   */
  scanMap<T>(range: KeyRange, limit: number, make: Projection<T>, verify?: Verification): Promise<readonly T[]>
  /**
   * True: every write is durable. False: a check failed and nothing was written. Rejects with `MetaFull` when nothing
   * was written for want of room, with `OutcomeUnknown` when it may or may not have been, and with a RangeError when
   * the commit is outside `META_LIMITS`.
   */
  commit(tx: Minitransaction): Promise<boolean>
  /** What an operator may want to see; an engine that cannot tell has none. */
  statistics?(): Promise<MetaStatistics>
  close(): Promise<void>
}

export interface MetaStatistics {
  readonly mapBytes: number
  /** Of the file, as far as it is or was in use. */
  readonly usedBytes: number
  readonly entries: number
  readonly readers: number
}

/** What a driver opens. The store works with the records alone; a backup looks at a snapshot of them. */
export interface MetaEngine extends Meta {
  /** With everything that was committed before the call. */
  snapshot(): Promise<Snapshot>
}

/** For engines whose entries are copies anyway. */
export function scanMapAll<T>(entries: readonly Entry[], make: Projection<T>): readonly T[] {
  const stretch = (bytes: Buffer): ByteSpan => ({ bytes, start: 0, end: bytes.length })
  return entries.map(({ key, value, stamp }, i) => make({ key: stretch(key), value: stretch(value), stamp }, i, false))
}

export interface KeyedSnapshot extends Snapshot {
  /** Whether somebody who looks for this key meets its record; whether that is sound is not looked at. */
  has(key: Buffer): boolean
}

/** An engine on this machine's disk, of which a second copy is kept: it tells each commit to a journal. */
export interface JournaledEngine extends MetaEngine {
  snapshot(): Promise<KeyedSnapshot>
  /** From here on, and only once. */
  attachJournal(journal: CommitJournal): void
  /** The greatest stamp that this process has given; one less than its first before that. */
  lastStamp(): number
  /** The number of the last transaction, of whichever process. */
  lastTransaction(): number
}

/** Who is told of commits. None of these waits, and none can fail a commit. */
export interface CommitJournal {
  /** Before a commit; its puts get stamps from `firstStamp` on. */
  begin(writes: readonly Write[], firstStamp: number): CommitMark
  /** What the journal wants to have written in the same commit. */
  noteOf(mark: CommitMark, writes: readonly Write[]): { readonly key: Buffer; readonly value: Buffer } | undefined
  aborted(mark: CommitMark): void
  committed(mark: CommitMark, transaction: number, writes: readonly Write[]): void
}

/** A commit under way, as its journal sees it. */
export interface CommitMark {
  readonly seq: number
  readonly firstStamp: number
  /** Where its note stands; undefined when it deletes nothing. */
  readonly place: number | undefined
  readonly writer: Buffer
}

/** Records that an engine keeps for itself: nobody else writes them, and they are about its folder alone. */
export const ENGINE_KEYS: Buffer = key('x', 'journal')

/** What a driver keeps to, so that every engine of this kind can take the place of another. No key is empty. */
export const META_LIMITS = {
  keyBytesMax: 1_800,
  valueBytesMax: 100_000,
  commitBytesMax: 1_000_000,
  commitKeysMax: 256,
} as const

/** A stored record does not match its own checksum: reported, never passed on. */
export class DamagedRecord extends Error {
  readonly key: Buffer
  constructor(key: Buffer) {
    super(`metadata record ${key.toString('hex').slice(0, 64)} does not match its checksum`)
    this.name = 'DamagedRecord'
    this.key = key
  }
}

/** The engine has no room: nothing of this commit was written, and reads go on. */
export class MetaFull extends Error {
  constructor(cause: unknown) {
    super('the metadata engine is out of space', { cause })
    this.name = 'MetaFull'
  }
}

/** Whether the commit took effect cannot be known here. The process must not answer for it and must start again. */
export class OutcomeUnknown extends Error {
  constructor(cause: unknown) {
    super('the outcome of a metadata commit is unknown', { cause })
    this.name = 'OutcomeUnknown'
  }
}
