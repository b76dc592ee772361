/**
 * Makes the records of one engine equal to those of another, in one pass over both in key order. Records that are equal
 * already are only read, so that a pass can be repeated: to follow a store that changes, to go on after a crash, and to
 * prove that nothing differs.
 */
import { EMPTY, keySuccessor } from '../lib/bytes.ts'
import { type Entry, META_LIMITS, type Meta, type Write } from '../meta/meta.ts'
import { isServerRecord } from '../store/commit/server-records.ts'

export interface CopyCounts {
  /** Records that the target has after the pass. */
  readonly records: number
  /** Records that were missing or different. */
  readonly written: number
  /** Records that the source does not have. */
  readonly removed: number
}

const PAGE = 1000
/** Keys of a commit; a fence adds checks to them. */
const KEYS_MAX = META_LIMITS.commitKeysMax - 16
const COMMITS_AT_ONCE = 8
const PROGRESS_RECORDS = 20_000

/** The records of an engine in key order; the next page is read while one is used. */
class Cursor {
  readonly #meta: Pick<Meta, 'scan'>
  #page: readonly Entry[] = []
  #at = 0
  #next: Promise<readonly Entry[]> | undefined

  constructor(meta: Pick<Meta, 'scan'>) {
    this.#meta = meta
    this.#next = this.#read(EMPTY)
  }

  #read(start: Buffer): Promise<readonly Entry[]> {
    const page = this.#meta.scan({ start, end: undefined }, PAGE)
    // Awaited later; until then a rejection must not count as unhandled.
    page.catch(() => {})
    return page
  }

  /** The current record; undefined after the last one. Records of the server itself are passed over. */
  async current(): Promise<Entry | undefined> {
    for (;;) {
      const entry = this.#page[this.#at]
      if (entry === undefined) {
        if (this.#next === undefined) return undefined
        this.#page = await this.#next
        this.#at = 0
        const last = this.#page.at(-1)
        this.#next = this.#page.length < PAGE || last === undefined ? undefined : this.#read(keySuccessor(last.key))
      } else if (isServerRecord(entry.key)) this.#at++
      else return entry
    }
  }

  advance(): void {
    this.#at++
  }
}

/** Collects writes into commits, several of which are on their way. */
class Writer {
  readonly #meta: Pick<Meta, 'commit'>
  readonly #commits = new Set<Promise<void>>()
  #writes: Write[] = []
  #bytes = 0

  constructor(meta: Pick<Meta, 'commit'>) {
    this.#meta = meta
  }

  async add(write: Write): Promise<void> {
    const bytes = write.key.length + (write.value?.length ?? 0)
    if (this.#writes.length === KEYS_MAX || this.#bytes + bytes > META_LIMITS.commitBytesMax / 2) await this.#send()
    this.#writes.push(write)
    this.#bytes += bytes
  }

  async #send(): Promise<void> {
    const writes = this.#writes
    this.#writes = []
    this.#bytes = 0
    if (writes.length === 0) return
    const commit = this.#commit(writes)
    this.#commits.add(commit)
    commit.then(
      () => this.#commits.delete(commit),
      // Kept, so that it is found below.
      () => {},
    )
    if (this.#commits.size >= COMMITS_AT_ONCE) await Promise.race(this.#commits)
  }

  async #commit(writes: readonly Write[]): Promise<void> {
    if (!(await this.#meta.commit({ checks: [], writes }))) throw new Error('records could not be written')
  }

  async end(): Promise<void> {
    await this.#send()
    await Promise.all(this.#commits)
  }
}

export async function copyRecords(
  source: Pick<Meta, 'scan'>,
  target: Pick<Meta, 'scan' | 'commit'>,
  progress: (line: string) => void,
  onChange: (key: Buffer) => void = () => {},
): Promise<CopyCounts> {
  const [from, to] = [new Cursor(source), new Cursor(target)]
  const writer = new Writer(target)
  const counts = { records: 0, written: 0, removed: 0 }
  for (;;) {
    const [wanted, found] = [await from.current(), await to.current()]
    if (wanted === undefined && found === undefined) break
    const order = wanted === undefined ? 1 : found === undefined ? -1 : wanted.key.compare(found.key)
    if (order > 0) {
      onChange(found!.key)
      await writer.add({ key: found!.key, value: undefined })
      counts.removed++
      to.advance()
      continue
    }
    if (order < 0 || !wanted!.value.equals(found!.value)) {
      onChange(wanted!.key)
      await writer.add({ key: wanted!.key, value: wanted!.value })
      counts.written++
    }
    counts.records++
    if (counts.records % PROGRESS_RECORDS === 0) progress(`${counts.records} records, ${counts.written} written`)
    from.advance()
    if (order === 0) to.advance()
  }
  await writer.end()
  return counts
}

/** Whether both engines have the same values for these keys. */
export async function haveSameRecords(
  one: Pick<Meta, 'get'>,
  other: Pick<Meta, 'get'>,
  keys: readonly Buffer[],
): Promise<boolean> {
  const isSame = await Promise.all(
    keys.map(async key => {
      const [first, second] = await Promise.all([one.get(key), other.get(key)])
      return first === undefined ? second === undefined : second !== undefined && first.value.equals(second.value)
    }),
  )
  return isSame.every(same => same)
}
