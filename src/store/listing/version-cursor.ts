/**
 * The versions of a bucket in order, merged from two ranges: current versions and older ones. A version moves between
 * them when a newer one is added or removed. Both ranges are therefore read as of the same time: if a current record
 * changes while the older ones are read, both are read again. Between batches the cursor keeps the last version it
 * returned and continues after it in whichever range the next one is. Otherwise it could miss or repeat a version.
 */
import { compareAsUtf8, keySuccessor, textOf } from '../../lib/bytes.ts'
import type { KeyRange, Meta, Projection, Stamp, Verification } from '../../meta/meta.ts'
import type { ShownRecord, ShownVersion } from '../../model/shown-version.ts'
import { recordKey } from '../commit/record-keys.ts'
import { KeyNames, keyAfterPrefix } from './listing-page.ts'

const BATCH_MIN = 2
const BATCH_MAX = 1001
/** Each try reads fewer keys, so that a busy key does not delay the others for long. */
const TRIES_MAX = 50

export interface VersionPosition {
  readonly key: string
  readonly seq: number
}

/** A version as read. */
interface CursorVersion {
  readonly key: string
  readonly version: ShownVersion
  readonly stamp: Stamp
}

class Side {
  start: Buffer
  readonly end: Buffer | undefined
  #batch: readonly CursorVersion[] = []
  #at = 0
  #more = true

  constructor({ start, end }: KeyRange) {
    this.start = start
    this.end = end
  }

  get next(): CursorVersion | undefined {
    return this.#batch[this.#at]
  }

  get isExhausted(): boolean {
    return this.#more && this.next === undefined
  }

  fill(batch: readonly CursorVersion[], size: number): void {
    this.#batch = batch
    this.#at = 0
    this.#more = batch.length === size
  }

  advance(): void {
    this.#at++
  }

  /** Moves the start of the next batch forward. */
  seek(start: Buffer): void {
    if (this.start.compare(start) < 0) this.start = start
  }

  /** Skips everything under the prefix; without a `behind` nothing follows. */
  pass(prefix: string, after: Buffer | undefined): void {
    while (this.next?.key.startsWith(prefix)) this.#at++
    if (after === undefined) this.#more = false
    else this.seek(after)
  }
}

interface VersionRanges {
  readonly bucket: string
  readonly current: KeyRange
  readonly older: KeyRange
  /** Continues after this version, which may have been removed. */
  readonly after: VersionPosition | undefined
  readonly firstBatch: number
}

export class VersionCursor {
  readonly #meta: Meta
  readonly #bucket: string
  readonly #current: Side
  readonly #older: Side
  readonly #shown: ShownRecord
  readonly #currentNames: KeyNames
  readonly #olderNames: KeyNames
  #after: VersionPosition | undefined
  #size: number

  constructor(meta: Meta, shown: ShownRecord, { bucket, current, older, after, firstBatch }: VersionRanges) {
    this.#meta = meta
    this.#shown = shown
    this.#bucket = bucket
    this.#currentNames = new KeyNames('o', { bucket })
    this.#olderNames = new KeyNames('v', { bucket })
    this.#current = new Side(current)
    this.#older = new Side(older)
    this.#after = after
    this.#size = Math.min(BATCH_MAX, firstBatch)
  }

  readonly #verify: Verification = ({ key, value }) => this.#shown.verify(value, key)

  #project(names: KeyNames): Projection<CursorVersion> {
    return ({ key, value, stamp }, _, isVerified) => {
      if (!isVerified) this.#shown.read(value)
      return { key: textOf(names.in(key)), version: this.#shown.version(), stamp }
    }
  }

  /** Whether the records still have the stamps they had when they were projected. */
  #isUnchanged(found: readonly CursorVersion[]): Projection<boolean> {
    return ({ key, stamp }, i) => {
      const before = found[i]
      return before !== undefined && before.stamp === stamp && this.#currentNames.in(key).is(before.key)
    }
  }

  /** Whether the next version has been fetched. */
  get isReady(): boolean {
    return !this.#current.isExhausted && !this.#older.isExhausted
  }

  get next(): CursorVersion | undefined {
    return first(this.#current.next, this.#older.next)
  }

  async peek(): Promise<CursorVersion | undefined> {
    if (!this.isReady) await this.#refill()
    return this.next
  }

  /** Moves past the version returned last. */
  advance({ key, version }: CursorVersion): void {
    const side = this.next === this.#current.next ? this.#current : this.#older
    side.advance()
    this.#after = { key, seq: version.seq }
  }

  /** Skips everything under a common prefix; the next batch is small, since another prefix may follow. */
  pass(prefix: string): void {
    this.#current.pass(prefix, keyAfterPrefix('o', this.#bucket, prefix))
    this.#older.pass(prefix, keyAfterPrefix('v', this.#bucket, prefix))
    this.#size = BATCH_MIN
  }

  async #refill(): Promise<void> {
    const [current, older, after] = [this.#current, this.#older, this.#after]
    if (after !== undefined) {
      // The current record of that key is read again: the next older version may have become current.
      current.seek(recordKey.current(this.#bucket, after.key))
      older.seek(keySuccessor(recordKey.older(this.#bucket, after.key, after.seq)))
    }
    for (let tries = 1; ; tries++) {
      const size = this.#size
      const found = await this.#meta.scanMap(current, size, this.#project(this.#currentNames), this.#verify)
      const others = await this.#meta.scanMap(older, size, this.#project(this.#olderNames), this.#verify)
      const isSame = await this.#meta.scanMap(current, size, this.#isUnchanged(found), this.#verify)
      if (tries < TRIES_MAX && !(isSame.length === found.length && isSame.every(Boolean))) {
        this.#size = Math.max(BATCH_MIN, size >> 2)
        continue
      }
      current.fill(found, size)
      older.fill(others, size)
      if (after !== undefined && isPassed(current.next, after)) current.advance()
      this.#size = Math.min(BATCH_MAX, size * 4)
      return
    }
  }
}

/** Already returned, or newer than the cursor's position. */
const isPassed = (current: CursorVersion | undefined, after: VersionPosition): boolean =>
  current !== undefined && current.key === after.key && current.version.seq >= after.seq

/** A key's current version sorts before its older ones. */
function first(current: CursorVersion | undefined, older: CursorVersion | undefined): CursorVersion | undefined {
  if (current === undefined || older === undefined) return current ?? older
  return current.key === older.key || compareAsUtf8(current.key, older.key) < 0 ? current : older
}
