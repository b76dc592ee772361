/**
 * The versions of a bucket in order, merged from two ranges: the current ones and those behind them. A version moves
 * from one to the other when a newer one comes or goes. So both are read as of one moment: if a current record has
 * changed after the older ones were read, both are read again. And from one batch to the next the cursor stands behind
 * the last version it gave out, wherever the next one stands by then. Otherwise it could miss or repeat a version.
 */
import { compareAsUtf8, keySuccessor, textOf } from '../../lib/bytes.ts'
import type { KeyRange, Meta, Projection, Stamp, Verification } from '../../meta/meta.ts'
import type { ShownRecord, ShownVersion } from '../../model/shown-version.ts'
import { recordKey } from '../commit/record-keys.ts'
import { KeyNames, keyAfterPrefix } from './listing-page.ts'

const BATCH_MIN = 2
const BATCH_MAX = 1001
/** Each try looks at fewer keys, so that a busy one does not hold up the rest for long. */
const TRIES_MAX = 50

export interface VersionPosition {
  readonly key: string
  readonly seq: number
}

/** A version as it was read. */
export interface CursorVersion {
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

  get dry(): boolean {
    return this.#more && this.next === undefined
  }

  take(batch: readonly CursorVersion[], size: number): void {
    this.#batch = batch
    this.#at = 0
    this.#more = batch.length === size
  }

  advance(): void {
    this.#at++
  }

  /** The next batch begins here, if it would not begin later anyway. */
  goOnAt(start: Buffer): void {
    if (this.start.compare(start) < 0) this.start = start
  }

  /** Nothing under the prefix comes any more; nothing at all when there is nothing behind it. */
  pass(prefix: string, behind: Buffer | undefined): void {
    while (this.next?.key.startsWith(prefix)) this.#at++
    if (behind === undefined) this.#more = false
    else this.goOnAt(behind)
  }
}

export interface VersionRanges {
  readonly bucket: string
  readonly current: KeyRange
  readonly older: KeyRange
  /** Goes on behind this version of a key, which may be gone by now. */
  readonly behind: VersionPosition | undefined
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
  #behind: VersionPosition | undefined
  #size: number

  constructor(meta: Meta, shown: ShownRecord, { bucket, current, older, behind, firstBatch }: VersionRanges) {
    this.#meta = meta
    this.#shown = shown
    this.#bucket = bucket
    this.#currentNames = new KeyNames('o', { bucket })
    this.#olderNames = new KeyNames('v', { bucket })
    this.#current = new Side(current)
    this.#older = new Side(older)
    this.#behind = behind
    this.#size = Math.min(BATCH_MAX, firstBatch)
  }

  readonly #verify: Verification = ({ key, value }) => this.#shown.isSound(value, key)

  #findingIn(names: KeyNames): Projection<CursorVersion> {
    return ({ key, value, stamp }, _, isVerified) => {
      if (!isVerified) this.#shown.read(value)
      return { key: textOf(names.in(key)), version: this.#shown.version(), stamp }
    }
  }

  /** Whether the records are what they were when these were made of them. */
  #isStill(found: readonly CursorVersion[]): Projection<boolean> {
    return ({ key, stamp }, i) => {
      const before = found[i]
      return before !== undefined && before.stamp === stamp && this.#currentNames.in(key).is(before.key)
    }
  }

  /** Whether what comes next has been fetched. */
  get isReady(): boolean {
    return !this.#current.dry && !this.#older.dry
  }

  get next(): CursorVersion | undefined {
    return first(this.#current.next, this.#older.next)
  }

  async peek(): Promise<CursorVersion | undefined> {
    if (!this.isReady) await this.#refill()
    return this.next
  }

  /** Behind the version that was found last. */
  advance({ key, version }: CursorVersion): void {
    const side = this.next === this.#current.next ? this.#current : this.#older
    side.advance()
    this.#behind = { key, seq: version.seq }
  }

  /** Goes on behind everything under a common prefix; the next batch is small, since another may follow. */
  pass(prefix: string): void {
    this.#current.pass(prefix, keyAfterPrefix('o', this.#bucket, prefix))
    this.#older.pass(prefix, keyAfterPrefix('v', this.#bucket, prefix))
    this.#size = BATCH_MIN
  }

  async #refill(): Promise<void> {
    const [current, older, behind] = [this.#current, this.#older, this.#behind]
    if (behind !== undefined) {
      // The current record of that key once more: the next older version may have become the current one.
      current.goOnAt(recordKey.current(this.#bucket, behind.key))
      older.goOnAt(keySuccessor(recordKey.older(this.#bucket, behind.key, behind.seq)))
    }
    for (let tries = 1; ; tries++) {
      const size = this.#size
      const found = await this.#meta.scanMap(current, size, this.#findingIn(this.#currentNames), this.#verify)
      const others = await this.#meta.scanMap(older, size, this.#findingIn(this.#olderNames), this.#verify)
      const isSame = await this.#meta.scanMap(current, size, this.#isStill(found), this.#verify)
      if (tries < TRIES_MAX && !(isSame.length === found.length && isSame.every(Boolean))) {
        this.#size = Math.max(BATCH_MIN, size >> 2)
        continue
      }
      current.take(found, size)
      older.take(others, size)
      if (behind !== undefined && isPassed(current.next, behind)) current.advance()
      this.#size = Math.min(BATCH_MAX, size * 4)
      return
    }
  }
}

/** Given out already, or newer than where the cursor stands. */
const isPassed = (current: CursorVersion | undefined, behind: VersionPosition): boolean =>
  current !== undefined && current.key === behind.key && current.version.seq >= behind.seq

/** The current version of a key comes before its older ones. */
function first(current: CursorVersion | undefined, older: CursorVersion | undefined): CursorVersion | undefined {
  if (current === undefined || older === undefined) return current ?? older
  return current.key === older.key || compareAsUtf8(current.key, older.key) < 0 ? current : older
}
