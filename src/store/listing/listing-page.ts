/** What all listings have in common: a cursor that seeks, a page that fills up, and common prefixes. */
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
  /** Where the next page goes on, when there is more: the last key of this one or its last common prefix. */
  readonly next: { readonly key: string; readonly isPrefix: boolean } | undefined
}

const BATCH_MIN = 2
/** As long as a seek takes, so many entries can be read instead. */
const BATCH_DENSE = 16
/** Among so many common prefixes that needed a seek each, one look whether there are fewer keys behind them by now. */
const LOOK_EVERY = 16
/** A full page and the one behind it that tells that there is more. */
const BATCH_MAX = 1001
/** With a delimiter nobody knows beforehand whether plain keys or common prefixes come. */
const BATCH_UNSURE = 32

export function firstBatch({ delimiter, limit }: ListRequest): number {
  return delimiter === undefined || delimiter === '' ? limit + 1 : BATCH_UNSURE
}

/** Stands for a record whose key falls under a common prefix: nothing else is made of it. */
class RolledUp {
  readonly prefix: string
  constructor(prefix: string) {
    this.prefix = prefix
  }
}

/** What a page shows for a record. */
export type PageItem<T> = T | RolledUp

/** A kind of record, where those of a listing lie, and what it makes of each; the name is lent as the entry is. */
export interface RecordWalk<T> {
  readonly kind: keyof typeof NAME_TRAILER_BYTES
  readonly range: KeyRange
  /** Where records have a checksum for what is shown of them. */
  readonly verify?: Verification
  make(entry: EntryView, name: ByteSpan, isVerified: boolean): T
}

/** The names in the addresses of one kind of record, where they lie, and the common prefixes that they fall under. */
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

  /** Whether the name that it is at is this one; most are plain, and need not become a text for that. */
  is(name: string): boolean {
    const { bytes, start, end } = this
    for (let i = 0; i < name.length; i++) {
      const unit = name.charCodeAt(i)
      if (unit >= 0x80) return textOf(this) === name
      if (start + i >= end || bytes[start + i] !== unit) return false
    }
    return end - start === name.length
  }

  /** Where the common prefix of the name ends; -1: it falls under none. No text of UTF-8 begins inside a character. */
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
 * What is made of the entries of a range, one at a time. They are fetched in batches that grow while they are used up:
 * plain keys are read by the thousand, and so are common prefixes with few keys behind each. A batch that is all of one
 * common prefix makes the next one small: those with many keys are passed by a seek each.
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

  /** What the cursor stands at, if it has been fetched. */
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
      return this.#shown(entry, isVerified)
    }
    this.#batch = await this.#meta.scanMap(this.#range, size, make, this.#walk.verify)
    this.#at = 0
    this.#more = last !== undefined
    if (last !== undefined) this.#range = { start: keySuccessor(last), end: this.#range.end }
    this.#size = Math.min(BATCH_MAX, size * 4)
    return this.#batch[0]
  }

  #shown(entry: EntryView, isVerified: boolean): PageItem<T> {
    const name = this.#names.in(entry.key)
    const prefixEnd = this.#names.prefixEnd()
    if (prefixEnd < 0) return this.#walk.make(entry, name, isVerified)
    return new RolledUp(name.bytes.toString('utf8', name.start, prefixEnd))
  }

  advance(): void {
    this.#at++
  }

  /** Goes on behind everything under the common prefix that it stands at, when so many are wanted at most. */
  pass(prefix: string, wanted: number): void {
    const isAlone = this.#at === 0
    while (isRolledUp(this.next) && this.next.prefix === prefix) this.#at++
    if (this.next !== undefined) return
    const start = keyAfterPrefix(this.#walk.kind, this.#request.bucket, prefix)
    if (start === undefined) this.#more = false
    else this.#range = { start: later(this.#range.start, start), end: this.#range.end }
    const dense = Math.min(BATCH_MAX, Math.max(BATCH_DENSE, Math.min(this.#batch.length * 2, wanted * 4)))
    this.#size = isAlone ? this.#sizeOfSeek() : dense
  }

  #sizeOfSeek(): number {
    this.#seeks++
    return this.#seeks % LOOK_EVERY === 0 ? BATCH_DENSE : BATCH_MIN
  }
}

export const isRolledUp = (shown: unknown): shown is RolledUp => shown instanceof RolledUp

const later = (a: Buffer, b: Buffer): Buffer => (a.compare(b) > 0 ? a : b)

/** Items and common prefixes together fill a page. */
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

  /** How many more it takes. */
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
    // Asked for at the end alone: an item need not know its key before.
    const key = isPrefix ? this.#prefixes.at(-1) : this.#items.at(-1)?.key
    const next = more && key !== undefined ? { key, isPrefix } : undefined
    return { items: this.#items, prefixes: this.#prefixes, next }
  }
}

/** The common prefix that a key falls under, if any. */
export function rolledUp(key: string, { prefix = '', delimiter }: ListRequest): string | undefined {
  if (delimiter === undefined || delimiter === '') return undefined
  const found = key.indexOf(delimiter, prefix.length)
  return found < 0 ? undefined : key.slice(0, found + delimiter.length)
}

/** The first address behind everything under a common prefix. */
export function keyAfterPrefix(kind: string, bucket: string, prefix: string): Buffer | undefined {
  return prefixSuccessor(Buffer.concat([address(kind, bucket), Buffer.from(prefix)]))
}

/** The common prefix that the mark of a page lies in. Whoever has come so far has seen it and need not see it again. */
export function listedPrefix(key: string, request: ListRequest): string | undefined {
  return key.startsWith(request.prefix ?? '') ? rolledUp(key, request) : undefined
}

/**
 * The first address behind a key that a client names to begin with. It need not have seen the common prefix that the
 * key lies in; one that it names itself it has.
 */
export function keyAfterMarker(kind: string, request: ListRequest, key: string): Buffer | undefined {
  return listedPrefix(key, request) === key ? keyAfter(kind, request, key) : behindText(kind, request.bucket, key)
}

/** The first address behind a key, or behind all of the common prefix of this listing that it lies in. */
export function keyAfter(kind: string, request: ListRequest, key: string): Buffer | undefined {
  const seen = listedPrefix(key, request)
  return seen === undefined ? behindText(kind, request.bucket, key) : keyAfterPrefix(kind, request.bucket, seen)
}

/** Clients go on behind any text. No key has a zero byte or is too long, so what follows there makes no difference. */
function behindText(kind: string, bucket: string, text: string): Buffer | undefined {
  const name = Buffer.from(text.split('\0', 1)[0]!).subarray(0, LIMITS.keyBytesMax + 1)
  return prefixSuccessor(Buffer.concat([address(kind, bucket), name, Buffer.alloc(1)]))
}

/** Everything of this kind in the bucket with the prefix, from `start` on. */
export function rangeOf(kind: string, request: ListRequest, start?: Buffer): KeyRange {
  const { bucket, prefix = '' } = request
  // Nothing starts with what no key can contain.
  if (prefix !== '' && !isKey(prefix)) return { start: address(kind, bucket), end: address(kind, bucket) }
  const lowest = Buffer.concat([address(kind, bucket), Buffer.from(prefix)])
  return { start: start === undefined ? lowest : later(lowest, start), end: prefixSuccessor(lowest) }
}
