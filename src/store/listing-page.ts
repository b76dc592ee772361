/** What all listings have in common: a cursor that seeks, a page that fills up, and common prefixes. */
import { afterPrefix, copyOf, justAfter } from '../lib/bytes.ts'
import { key as address } from '../lib/keys.ts'
import type { KeyRange, LentEntry, Making, Meta, Vouching } from '../meta/meta.ts'
import { LIMITS } from '../rules/limits.ts'
import { isKey } from '../rules/naming.ts'
import { nameIn } from './addresses.ts'

export interface ListRequest {
  readonly bucket: string
  readonly prefix?: string | undefined
  readonly delimiter?: string | undefined
  readonly limit: number
}

export interface Listed<T> {
  readonly items: readonly T[]
  readonly prefixes: readonly string[]
  /** Where the next page goes on, when there is more: the last key of this one or its last common prefix. */
  readonly next: { readonly key: string; readonly isPrefix: boolean } | undefined
}

const BATCH_MIN = 2
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
export type Shown<T> = T | RolledUp

/** A kind of record, where those of a listing lie, and what it makes of each. */
export interface Walk<T> {
  readonly kind: string
  readonly range: KeyRange
  /** Where records have a checksum for what is shown of them. */
  readonly vouch?: Vouching
  make(entry: LentEntry, name: string, isVouched: boolean): T
}

/**
 * What is made of the entries of a range, one at a time. They are fetched in batches that grow while they are used up
 * and shrink after a common prefix: a run of plain keys is read by the thousand, a run of common prefixes by twos.
 */
export class Cursor<T> {
  readonly #meta: Meta
  readonly #request: ListRequest
  readonly #walk: Walk<T>
  #range: KeyRange
  #batch: readonly Shown<T>[] = []
  #at = 0
  #size: number
  #more = true

  constructor(meta: Meta, request: ListRequest, walk: Walk<T>) {
    this.#meta = meta
    this.#request = request
    this.#walk = walk
    this.#range = walk.range
    this.#size = Math.min(BATCH_MAX, firstBatch(request))
  }

  /** What the cursor stands at, if it has been fetched. */
  get next(): Shown<T> | undefined {
    return this.#batch[this.#at]
  }

  async peek(): Promise<Shown<T> | undefined> {
    if (this.#at < this.#batch.length) return this.#batch[this.#at]
    if (!this.#more) return undefined
    const size = this.#size
    let last: Buffer | undefined
    const make: Making<Shown<T>> = (entry, i, isVouched) => {
      if (i === size - 1) last = copyOf(entry.key)
      return this.#shown(entry, isVouched)
    }
    this.#batch = await this.#meta.lend(this.#range, size, make, this.#walk.vouch)
    this.#at = 0
    this.#more = last !== undefined
    if (last !== undefined) this.#range = { start: justAfter(last), end: this.#range.end }
    this.#size = Math.min(BATCH_MAX, size * 4)
    return this.#batch[0]
  }

  #shown(entry: LentEntry, isVouched: boolean): Shown<T> {
    const name = nameIn(entry.key)
    const prefix = rolledUp(name, this.#request)
    return prefix === undefined ? this.#walk.make(entry, name, isVouched) : new RolledUp(prefix)
  }

  advance(): void {
    this.#at++
  }

  /** Goes on behind everything under the common prefix that it stands at. */
  pass(prefix: string): void {
    while (isRolledUp(this.next) && this.next.prefix === prefix) this.#at++
    if (this.next !== undefined) return
    const start = behindPrefix(this.#walk.kind, this.#request.bucket, prefix)
    if (start === undefined) this.#more = false
    else this.#range = { start: later(this.#range.start, start), end: this.#range.end }
    this.#size = BATCH_MIN
  }
}

export const isRolledUp = (shown: unknown): shown is RolledUp => shown instanceof RolledUp

const later = (a: Buffer, b: Buffer): Buffer => (a.compare(b) > 0 ? a : b)

/** Items and common prefixes together fill a page. */
export class Page<T> {
  readonly #limit: number
  readonly #items: T[] = []
  readonly #prefixes: string[] = []
  #lastKey = ''
  #endsWithPrefix = false

  constructor(limit: number) {
    this.#limit = limit
  }

  get full(): boolean {
    return this.#items.length + this.#prefixes.length >= this.#limit
  }

  add(key: string, item: T): void {
    this.#items.push(item)
    this.#lastKey = key
    this.#endsWithPrefix = false
  }

  addPrefix(prefix: string): void {
    this.#prefixes.push(prefix)
    this.#lastKey = prefix
    this.#endsWithPrefix = true
  }

  close(more: boolean): Listed<T> {
    const next = more ? { key: this.#lastKey, isPrefix: this.#endsWithPrefix } : undefined
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
export function behindPrefix(kind: string, bucket: string, prefix: string): Buffer | undefined {
  return afterPrefix(Buffer.concat([address(kind, bucket), Buffer.from(prefix)]))
}

/** The common prefix that the mark of a page lies in. Whoever has come so far has seen it and need not see it again. */
export function seenPrefix(key: string, request: ListRequest): string | undefined {
  return key.startsWith(request.prefix ?? '') ? rolledUp(key, request) : undefined
}

/** The first address behind a key, or behind all of the common prefix of this listing that it lies in. */
export function behind(kind: string, request: ListRequest, key: string): Buffer | undefined {
  const seen = seenPrefix(key, request)
  return seen === undefined ? behindText(kind, request.bucket, key) : behindPrefix(kind, request.bucket, seen)
}

/** Clients go on behind any text. No key has a zero byte or is too long, so what follows there makes no difference. */
function behindText(kind: string, bucket: string, text: string): Buffer | undefined {
  const name = Buffer.from(text.split('\0', 1)[0]!).subarray(0, LIMITS.keyBytesMax + 1)
  return afterPrefix(Buffer.concat([address(kind, bucket), name, Buffer.alloc(1)]))
}

/** Everything of this kind in the bucket with the prefix, from `start` on. */
export function rangeOf(kind: string, request: ListRequest, start?: Buffer): KeyRange {
  const { bucket, prefix = '' } = request
  // Nothing starts with what no key can contain.
  if (prefix !== '' && !isKey(prefix)) return { start: address(kind, bucket), end: address(kind, bucket) }
  const lowest = Buffer.concat([address(kind, bucket), Buffer.from(prefix)])
  return { start: start === undefined ? lowest : later(lowest, start), end: afterPrefix(lowest) }
}
