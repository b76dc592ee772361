/**
 * The versions of a bucket in order, merged from two ranges: the current ones and those behind them. A version moves
 * from one to the other when a newer one comes or goes. So both are read as of one moment: if a current record has
 * changed after the older ones were read, both are read again. And from one batch to the next the cursor stands behind
 * the last version it gave out, wherever the next one stands by then. Otherwise it could miss or repeat a version.
 */
import { justAfter } from '../lib/bytes.ts'
import type { Entry, KeyRange, Meta } from '../meta/meta.ts'
import { decodeShown, type ShownVersion } from '../model/shown-version.ts'
import { at, nameIn } from './addresses.ts'

const BATCH_MIN = 2
const BATCH_MAX = 1001
/** Each try looks at fewer keys, so that a busy one does not hold up the rest for long. */
const TRIES_MAX = 50

export interface VersionPlace {
  readonly key: string
  readonly seq: number
}

export interface Found {
  readonly key: string
  readonly version: ShownVersion
}

class Side {
  start: Buffer
  readonly end: Buffer | undefined
  #batch: readonly Entry[] = []
  #at = 0
  #more = true

  constructor({ start, end }: KeyRange) {
    this.start = start
    this.end = end
  }

  get next(): Entry | undefined {
    return this.#batch[this.#at]
  }

  get dry(): boolean {
    return this.#more && this.next === undefined
  }

  take(batch: readonly Entry[], size: number): void {
    this.#batch = batch
    this.#at = 0
    this.#more = batch.length === size
  }

  advance(): void {
    this.#at++
  }

  /** Nothing before `start` comes any more, and nothing at all when there is none. */
  seek(start: Buffer | undefined): void {
    while (this.next !== undefined && (start === undefined || this.next.key.compare(start) < 0)) this.#at++
    if (start === undefined) this.#more = false
    else if (this.start.compare(start) < 0) this.start = start
  }
}

export interface VersionRanges {
  readonly bucket: string
  readonly current: KeyRange
  readonly older: KeyRange
  /** Goes on behind this version of a key, which may be gone by now. */
  readonly behind: VersionPlace | undefined
  readonly firstBatch: number
}

export class VersionCursor {
  readonly #meta: Meta
  readonly #bucket: string
  readonly #current: Side
  readonly #older: Side
  #behind: VersionPlace | undefined
  #size: number

  constructor(meta: Meta, { bucket, current, older, behind, firstBatch }: VersionRanges) {
    this.#meta = meta
    this.#bucket = bucket
    this.#current = new Side(current)
    this.#older = new Side(older)
    this.#behind = behind
    this.#size = Math.min(BATCH_MAX, firstBatch)
  }

  async peek(): Promise<Found | undefined> {
    if (this.#current.dry || this.#older.dry) await this.#refill()
    const entry = first(this.#current.next, this.#older.next)
    if (entry === undefined) return undefined
    return { key: nameIn(entry.key), version: decodeShown(entry.value) }
  }

  /** Behind the version that was found last. */
  advance({ key, version }: Found): void {
    const next = first(this.#current.next, this.#older.next)
    const side = next === this.#current.next ? this.#current : this.#older
    side.advance()
    this.#behind = { key, seq: version.seq }
  }

  /** Goes on at these addresses; the next batch is small, since another seek may follow. */
  seek(current: Buffer | undefined, older: Buffer | undefined): void {
    this.#current.seek(current)
    this.#older.seek(older)
    this.#size = BATCH_MIN
  }

  async #refill(): Promise<void> {
    const [current, older, behind] = [this.#current, this.#older, this.#behind]
    if (behind !== undefined) {
      // The current record of that key once more: the next older version may have become the current one.
      current.seek(at.current(this.#bucket, behind.key))
      older.seek(justAfter(at.older(this.#bucket, behind.key, behind.seq)))
    }
    for (let tries = 1; ; tries++) {
      const size = this.#size
      const before = await this.#meta.scan(current, size)
      const others = await this.#meta.scan(older, size)
      const after = await this.#meta.scan(current, size)
      if (tries < TRIES_MAX && !isSame(before, after)) {
        this.#size = Math.max(BATCH_MIN, size >> 2)
        continue
      }
      current.take(after, size)
      older.take(others, size)
      if (behind !== undefined && this.#isPassed(current.next, behind)) current.advance()
      this.#size = Math.min(BATCH_MAX, size * 4)
      return
    }
  }

  /** Given out already, or newer than where the cursor stands. */
  #isPassed(entry: Entry | undefined, behind: VersionPlace): boolean {
    if (entry === undefined || !entry.key.equals(at.current(this.#bucket, behind.key))) return false
    return decodeShown(entry.value).seq >= behind.seq
  }
}

function isSame(before: readonly Entry[], after: readonly Entry[]): boolean {
  if (before.length !== after.length) return false
  return before.every(({ key, stamp }, i) => after[i]!.stamp === stamp && after[i]!.key.equals(key))
}

/** The current version of a key comes before its older ones: its address, but for the kind, is a prefix of theirs. */
function first(current: Entry | undefined, older: Entry | undefined): Entry | undefined {
  if (current === undefined || older === undefined) return current ?? older
  return current.key.compare(older.key, 1, older.key.length, 1, current.key.length) <= 0 ? current : older
}
