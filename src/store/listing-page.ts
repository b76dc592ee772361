/** What all listings have in common: a cursor that seeks, a page that fills up, and common prefixes. */
import { afterPrefix, justAfter } from '../lib/bytes.ts'
import { key as address } from '../lib/keys.ts'
import type { Entry, KeyRange, Meta } from '../meta/meta.ts'
import { LIMITS } from '../rules/limits.ts'
import { isKey } from '../rules/naming.ts'

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

/**
 * Entries of a range one at a time, fetched in batches that grow while they are used up and shrink after a seek: a run
 * of plain keys is read by the thousand, a run of common prefixes by twos.
 */
export class Cursor {
  readonly #meta: Meta
  #range: KeyRange
  #batch: readonly Entry[] = []
  #at = 0
  #size: number
  #more = true

  constructor(meta: Meta, range: KeyRange, request: ListRequest) {
    this.#meta = meta
    this.#range = range
    this.#size = Math.min(BATCH_MAX, firstBatch(request))
  }

  /** The entry that the cursor stands at, if it has been fetched. */
  get next(): Entry | undefined {
    return this.#batch[this.#at]
  }

  async peek(): Promise<Entry | undefined> {
    if (this.#at < this.#batch.length) return this.#batch[this.#at]
    if (!this.#more) return undefined
    this.#batch = await this.#meta.scan(this.#range, this.#size)
    this.#at = 0
    this.#more = this.#batch.length === this.#size
    const last = this.#batch.at(-1)
    if (last !== undefined) this.#range = { start: justAfter(last.key), end: this.#range.end }
    this.#size = Math.min(BATCH_MAX, this.#size * 4)
    return this.#batch[0]
  }

  advance(): void {
    this.#at++
  }

  /** Goes on at `start`; nothing comes after `undefined`. */
  seek(start: Buffer | undefined): void {
    if (start === undefined) {
      this.#at = this.#batch.length
      this.#more = false
      return
    }
    while (this.#at < this.#batch.length && this.#batch[this.#at]!.key.compare(start) < 0) this.#at++
    if (this.#at < this.#batch.length) return
    this.#range = { start: later(this.#range.start, start), end: this.#range.end }
    this.#size = BATCH_MIN
  }
}

const later = (a: Buffer, b: Buffer): Buffer => (a.compare(b) > 0 ? a : b)

/** Items and common prefixes together fill a page. */
export class Page<T> {
  readonly #limit: number
  readonly #items: T[] = []
  readonly #prefixes: string[] = []
  #last: { key: string; isPrefix: boolean } | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  get full(): boolean {
    return this.#items.length + this.#prefixes.length >= this.#limit
  }

  add(key: string, item: T): void {
    this.#items.push(item)
    this.#last = { key, isPrefix: false }
  }

  addPrefix(prefix: string): void {
    this.#prefixes.push(prefix)
    this.#last = { key: prefix, isPrefix: true }
  }

  close(more: boolean): Listed<T> {
    return { items: this.#items, prefixes: this.#prefixes, next: more ? this.#last : undefined }
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

/** The first address behind a key, or behind all it stands for when it is a common prefix of this listing. */
export function behind(kind: string, request: ListRequest, key: string): Buffer | undefined {
  const isPrefix = key.startsWith(request.prefix ?? '') && rolledUp(key, request) === key
  return isPrefix ? behindPrefix(kind, request.bucket, key) : behindText(kind, request.bucket, key)
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
