/** Shared parts of all listings: a seeking cursor, page assembly and common prefixes. */
import { type ByteSpan, copyOf, EMPTY, keySuccessor, prefixSuccessor, textOf } from '../../lib/bytes.ts'
import { BadRecord } from '../../lib/codec.ts'
import { key as address } from '../../lib/keys.ts'
import type { EntryView, KeyRange, Meta, Projection, Verification } from '../../meta/meta.ts'
import { LIMITS } from '../../rules/limits.ts'
import { isKey } from '../../rules/naming.ts'
import { NAME_TRAILER_BYTES, nameOffset } from '../commit/record-keys.ts'

export interface ListRequest {
  readonly bucket: string
  readonly prefix?: string | undefined
  readonly delimiter?: string | undefined
  readonly limit: number
}

export interface ListPage<T> {
  readonly items: readonly T[]
  readonly prefixes: readonly string[]
  /** Where the next page continues, if there is one: after the last key or common prefix of this page. */
  readonly next: { readonly key: string; readonly isPrefix: boolean } | undefined
}

const BATCH_MIN = 2
/** Reading this many entries costs about as much as one seek. */
const BATCH_DENSE = 16
/** After this many seeks over common prefixes, one larger batch probes whether prefixes have become small. */
const PROBE_EVERY = 16
/** A full page and one entry more, which shows whether there is a next page. */
const BATCH_MAX = 1001
/** With a delimiter it is unknown whether plain keys or common prefixes follow. */
const BATCH_UNKNOWN = 32

export function firstBatch({ delimiter, limit }: ListRequest): number {
  return delimiter === undefined || delimiter === '' ? limit + 1 : BATCH_UNKNOWN
}

/** Represents a record whose key falls under a common prefix. */
class RolledUp {
  readonly prefix: string
  constructor(prefix: string) {
    this.prefix = prefix
  }
}

/** A page's item for one record. */
type PageItem<T> = T | RolledUp

/** The records of a listing and their projection; the name is borrowed like the entry. */
export interface RecordWalk<T> {
  readonly kind: keyof typeof NAME_TRAILER_BYTES
  readonly range: KeyRange
  /** Verifies the checksum over the listed fields, for records that have one. */
  readonly verify?: Verification
  make(entry: EntryView, name: ByteSpan, isVerified: boolean): T
}

/** A view of the names in keys of one record kind, and of the common prefixes they fall under. */
export class KeyNames implements ByteSpan {
  bytes: Buffer = EMPTY
  start = 0
  end = 0
  readonly #before: number
  readonly #after: number
  readonly #prefixBytes: number
  readonly #delimiter: Buffer

  constructor(
    kind: keyof typeof NAME_TRAILER_BYTES,
    { bucket, prefix = '', delimiter = '' }: Omit<ListRequest, 'limit'>,
  ) {
    this.#before = nameOffset(bucket)
    this.#after = NAME_TRAILER_BYTES[kind]
    this.#prefixBytes = Buffer.byteLength(prefix)
    this.#delimiter = Buffer.from(delimiter)
  }

  in({ bytes, start, end }: ByteSpan): this {
    this.bytes = bytes
    this.start = start + this.#before
    this.end = end - this.#after
    if (this.end < this.start) throw new BadRecord('has a key without a name')
    return this
  }

  /** Compares the current name without decoding it, unless it has non-ASCII characters. */
  is(name: string): boolean {
    const { bytes, start, end } = this
    for (let i = 0; i < name.length; i++) {
      const unit = name.charCodeAt(i)
      if (unit >= 0x80) return textOf(this) === name
      if (start + i >= end || bytes[start + i] !== unit) return false
    }
    return end - start === name.length
  }

  /**
   * End of the name's common prefix, or -1. Comparing bytes is correct, since no UTF-8 sequence begins inside another.
   */
  prefixEnd(): number {
    const { bytes, end } = this
    const delimiter = this.#delimiter
    const length = delimiter.length
    if (length === 0) return -1
    const first = delimiter[0]
    for (let at = this.start + this.#prefixBytes; at + length <= end; at++) {
      if (bytes[at] !== first) continue
      let same = 1
      while (same < length && bytes[at + same] === delimiter[same]) same++
      if (same === length) return at + length
    }
    return -1
  }
}

/**
 * Projects the entries of a range one at a time. They are fetched in batches that grow while they are consumed: plain
 * keys are read by the thousand, and so are common prefixes with few keys each. A batch that falls under one common
 * prefix makes the next one small: large prefixes are skipped by a seek each.
 */
export class ListingCursor<T> {
  readonly #meta: Meta
  readonly #request: ListRequest
  readonly #walk: RecordWalk<T>
  readonly #names: KeyNames
  #range: KeyRange
  #batch: readonly PageItem<T>[] = []
  #at = 0
  #size: number
  #seeks = 0
  #more = true

  constructor(meta: Meta, request: ListRequest, walk: RecordWalk<T>) {
    this.#meta = meta
    this.#request = request
    this.#walk = walk
    this.#names = new KeyNames(walk.kind, request)
    this.#range = walk.range
    this.#size = Math.min(BATCH_MAX, firstBatch(request))
  }

  /** The current item, if it has been fetched. */
  get next(): PageItem<T> | undefined {
    return this.#batch[this.#at]
  }

  async peek(): Promise<PageItem<T> | undefined> {
    if (this.#at < this.#batch.length) return this.#batch[this.#at]
    if (!this.#more) return undefined
    const size = this.#size
    let last: Buffer | undefined
    const make: Projection<PageItem<T>> = (entry, i, isVerified) => {
      if (i === size - 1) last = copyOf(entry.key)
      return this.#project(entry, isVerified)
    }
    this.#batch = await this.#meta.scanMap(this.#range, size, make, this.#walk.verify)
    this.#at = 0
    this.#more = last !== undefined
    if (last !== undefined) this.#range = { start: keySuccessor(last), end: this.#range.end }
    this.#size = Math.min(BATCH_MAX, size * 4)
    return this.#batch[0]
  }

  #project(entry: EntryView, isVerified: boolean): PageItem<T> {
    const name = this.#names.in(entry.key)
    const prefixEnd = this.#names.prefixEnd()
    if (prefixEnd < 0) return this.#walk.make(entry, name, isVerified)
    return new RolledUp(name.bytes.toString('utf8', name.start, prefixEnd))
  }

  advance(): void {
    this.#at++
  }

  /** Skips everything under the current common prefix; at most `wanted` further items are needed. */
  pass(prefix: string, wanted: number): void {
    const isAlone = this.#at === 0
    while (isRolledUp(this.next) && this.next.prefix === prefix) this.#at++
    if (this.next !== undefined) return
    const start = keyAfterPrefix(this.#walk.kind, this.#request.bucket, prefix)
    if (start === undefined) this.#more = false
    else this.#range = { start: max(this.#range.start, start), end: this.#range.end }
    const dense = Math.min(BATCH_MAX, Math.max(BATCH_DENSE, Math.min(this.#batch.length * 2, wanted * 4)))
    this.#size = isAlone ? this.#batchAfterSeek() : dense
  }

  #batchAfterSeek(): number {
    this.#seeks++
    return this.#seeks % PROBE_EVERY === 0 ? BATCH_DENSE : BATCH_MIN
  }
}

export const isRolledUp = (item: unknown): item is RolledUp => item instanceof RolledUp

const max = (a: Buffer, b: Buffer): Buffer => (a.compare(b) > 0 ? a : b)

/** Assembles a page; items and common prefixes count together. */
export class PageBuilder<T extends { readonly key: string }> {
  readonly #limit: number
  readonly #items: T[] = []
  readonly #prefixes: string[] = []
  #endsWithPrefix = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get full(): boolean {
    return this.left <= 0
  }

  /** How many more items fit. */
  get left(): number {
    return this.#limit - this.#items.length - this.#prefixes.length
  }

  add(item: T): void {
    this.#items.push(item)
    this.#endsWithPrefix = false
  }

  addPrefix(prefix: string): void {
    this.#prefixes.push(prefix)
    this.#endsWithPrefix = true
  }

  close(more: boolean): ListPage<T> {
    const isPrefix = this.#endsWithPrefix
    // Computed only here: an item decodes its key on demand.
    const key = isPrefix ? this.#prefixes.at(-1) : this.#items.at(-1)?.key
    const next = more && key !== undefined ? { key, isPrefix } : undefined
    return { items: this.#items, prefixes: this.#prefixes, next }
  }
}

/** The common prefix a key falls under, if any. */
export function rolledUp(key: string, { prefix = '', delimiter }: ListRequest): string | undefined {
  if (delimiter === undefined || delimiter === '') return undefined
  const found = key.indexOf(delimiter, prefix.length)
  return found < 0 ? undefined : key.slice(0, found + delimiter.length)
}

/** The first record key after everything under a common prefix. */
export function keyAfterPrefix(kind: string, bucket: string, prefix: string): Buffer | undefined {
  return prefixSuccessor(Buffer.concat([address(kind, bucket), Buffer.from(prefix)]))
}

/** The common prefix that contains a page marker, which an earlier page has already listed. */
export function listedPrefix(key: string, request: ListRequest): string | undefined {
  return key.startsWith(request.prefix ?? '') ? rolledUp(key, request) : undefined
}

/**
 * The first record key after a start key chosen by the client. The common prefix that contains it is still listed,
 * unless the start key is that prefix itself.
 */
export function keyAfterMarker(kind: string, request: ListRequest, key: string): Buffer | undefined {
  return listedPrefix(key, request) === key ? keyAfter(kind, request, key) : keyAfterText(kind, request.bucket, key)
}

/** The first record key after a key, or after the common prefix of this listing that contains it. */
export function keyAfter(kind: string, request: ListRequest, key: string): Buffer | undefined {
  const prefix = listedPrefix(key, request)
  return prefix === undefined ? keyAfterText(kind, request.bucket, key) : keyAfterPrefix(kind, request.bucket, prefix)
}

/** Markers may be any text. Keys contain no zero byte and are bounded, so the rest of a longer marker is ignored. */
function keyAfterText(kind: string, bucket: string, text: string): Buffer | undefined {
  const name = Buffer.from(text.split('\0', 1)[0]!).subarray(0, LIMITS.keyBytesMax + 1)
  return prefixSuccessor(Buffer.concat([address(kind, bucket), name, Buffer.alloc(1)]))
}

/** Records of this kind in the bucket with the prefix, from `start` on. */
export function rangeOf(kind: string, request: ListRequest, start?: Buffer): KeyRange {
  const { bucket, prefix = '' } = request
  // No key has an invalid prefix.
  if (prefix !== '' && !isKey(prefix)) return { start: address(kind, bucket), end: address(kind, bucket) }
  const lowest = Buffer.concat([address(kind, bucket), Buffer.from(prefix)])
  return { start: start === undefined ? lowest : max(lowest, start), end: prefixSuccessor(lowest) }
}
