/**
 * The versions of a bucket in order, merged from two ranges: the current ones and those behind them. A version moves
 * from one to the other when a newer one comes or goes. So both are read as of one moment: if a current record has
 * changed after the older ones were read, both are read again. And from one batch to the next the cursor stands behind
 * the last version it gave out, wherever the next one stands by then. Otherwise it could miss or repeat a version.
 */
import { compareAsUtf8, justAfter } from '../lib/bytes.ts'
import type { KeyRange, LentEntry, Making, Meta, Stamp, Vouching } from '../meta/meta.ts'
import type { ShownRecord, ShownVersion } from '../model/shown-version.ts'
import { at, nameIn } from './addresses.ts'
import { behindPrefix } from './listing-page.ts'

const BATCH_MIN = 2
const BATCH_MAX = 1001
/** Each try looks at fewer keys, so that a busy one does not hold up the rest for long. */
const TRIES_MAX = 50

export interface VersionPlace {
  readonly key: string
  readonly seq: number
}

/** A version as it was read. */
export interface Found {
  readonly key: string
  readonly version: ShownVersion
  readonly stamp: Stamp
}

/** What is looked at to see whether a record is still the same. */
type Seen = Pick<Found, 'key' | 'stamp'>

const seen = ({ key, stamp }: LentEntry): Seen => ({ key: nameIn(key), stamp })

class Side {
  start: Buffer
  readonly end: Buffer | undefined
  #batch: readonly Found[] = []
  #at = 0
  #more = true

  constructor({ start, end }: KeyRange) {
    this.start = start
    this.end = end
  }

  get next(): Found | undefined {
    return this.#batch[this.#at]
  }

  get dry(): boolean {
    return this.#more && this.next === undefined
  }

  take(batch: readonly Found[], size: number): void {
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
  readonly behind: VersionPlace | undefined
  readonly firstBatch: number
}

export class VersionCursor {
  readonly #meta: Meta
  readonly #bucket: string
  readonly #current: Side
  readonly #older: Side
  readonly #shown: ShownRecord
  #behind: VersionPlace | undefined
  #size: number

  constructor(meta: Meta, shown: ShownRecord, { bucket, current, older, behind, firstBatch }: VersionRanges) {
    this.#meta = meta
    this.#shown = shown
    this.#bucket = bucket
    this.#current = new Side(current)
    this.#older = new Side(older)
    this.#behind = behind
    this.#size = Math.min(BATCH_MAX, firstBatch)
  }

  readonly #vouch: Vouching = ({ key, value }) => this.#shown.isSound(value, key)

  readonly #found: Making<Found> = ({ key, value, stamp }, _, isVouched) => {
    if (!isVouched) this.#shown.read(value)
    return { key: nameIn(key), version: this.#shown.version(), stamp }
  }

  /** Whether what comes next has been fetched. */
  get isReady(): boolean {
    return !this.#current.dry && !this.#older.dry
  }

  get next(): Found | undefined {
    return first(this.#current.next, this.#older.next)
  }

  async peek(): Promise<Found | undefined> {
    if (!this.isReady) await this.#refill()
    return this.next
  }

  /** Behind the version that was found last. */
  advance({ key, version }: Found): void {
    const side = this.next === this.#current.next ? this.#current : this.#older
    side.advance()
    this.#behind = { key, seq: version.seq }
  }

  /** Goes on behind everything under a common prefix; the next batch is small, since another may follow. */
  pass(prefix: string): void {
    this.#current.pass(prefix, behindPrefix('o', this.#bucket, prefix))
    this.#older.pass(prefix, behindPrefix('v', this.#bucket, prefix))
    this.#size = BATCH_MIN
  }

  async #refill(): Promise<void> {
    const [current, older, behind] = [this.#current, this.#older, this.#behind]
    if (behind !== undefined) {
      // The current record of that key once more: the next older version may have become the current one.
      current.goOnAt(at.current(this.#bucket, behind.key))
      older.goOnAt(justAfter(at.older(this.#bucket, behind.key, behind.seq)))
    }
    for (let tries = 1; ; tries++) {
      const size = this.#size
      const before = await this.#meta.lend(current, size, seen, this.#vouch)
      const others = await this.#meta.lend(older, size, this.#found, this.#vouch)
      const after = await this.#meta.lend(current, size, this.#found, this.#vouch)
      if (tries < TRIES_MAX && !isSame(before, after)) {
        this.#size = Math.max(BATCH_MIN, size >> 2)
        continue
      }
      current.take(after, size)
      older.take(others, size)
      if (behind !== undefined && isPassed(current.next, behind)) current.advance()
      this.#size = Math.min(BATCH_MAX, size * 4)
      return
    }
  }
}

/** Given out already, or newer than where the cursor stands. */
const isPassed = (current: Found | undefined, behind: VersionPlace): boolean =>
  current !== undefined && current.key === behind.key && current.version.seq >= behind.seq

function isSame(before: readonly Seen[], after: readonly Seen[]): boolean {
  if (before.length !== after.length) return false
  return before.every(({ key, stamp }, i) => after[i]!.stamp === stamp && after[i]!.key === key)
}

/** The current version of a key comes before its older ones. */
function first(current: Found | undefined, older: Found | undefined): Found | undefined {
  if (current === undefined || older === undefined) return current ?? older
  return current.key === older.key || compareAsUtf8(current.key, older.key) < 0 ? current : older
}
