/**
 * The blob and content records of one key range, with the references they record and those that were counted. A store
 * may have more of them than fit in memory, so a check counts one range after the other.
 */
import type { Slice } from '../model/content.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Findings, Pace } from './findings.ts'
import { readPage } from './records.ts'

/** The kind and an id of 16 bytes. */
const KEY_BYTES = 17
const CHUNK_RECORDS = 4096
const PAGE = 256
/** Beyond this, ids without a record are only counted. */
const MISSING_MAX = 100_000

/** Blob records are followed by content records. */
const RECORDS_START = Buffer.from('b')
const RECORDS_END = Buffer.from('d')
const KINDS = { blob: 'b'.charCodeAt(0), content: 'c'.charCodeAt(0) } as const

const HAS_FILE_OF_ITS_OWN = 1
const FILE_FOUND = 2

/** A blob or content record as a check counts it. */
export interface CountedRecord {
  readonly references: number
  /** A blob with a file of its own. */
  readonly isSolo: boolean
}

class Chunk {
  readonly keys = Buffer.alloc(KEY_BYTES * CHUNK_RECORDS)
  readonly recorded = new Uint32Array(CHUNK_RECORDS)
  readonly counted = new Uint32Array(CHUNK_RECORDS)
  readonly flags = new Uint8Array(CHUNK_RECORDS)
  length = 0

  compareAt(index: number, key: Buffer): number {
    return this.keys.compare(key, 0, KEY_BYTES, index * KEY_BYTES, (index + 1) * KEY_BYTES)
  }

  nameAt(index: number): string {
    const of = this.keys[index * KEY_BYTES] === KINDS.blob ? 'blob' : 'content'
    return `${of} ${this.keys.toString('hex', index * KEY_BYTES + 1, (index + 1) * KEY_BYTES)}`
  }
}

interface WindowSource {
  readonly context: StoreContext
  readonly findings: Findings
  /** Records of one range. */
  readonly recordsMax: number
  /** Called for each record once, in key order. */
  readonly read: (key: Buffer, value: Buffer) => CountedRecord
}

export class ReferenceWindow {
  readonly #start: Buffer
  /** Where the next range starts; undefined after the last. */
  #next: Buffer | undefined
  readonly #chunks: Chunk[] = []
  #records = 0
  #solos = 0
  readonly #missing = new Set<string>()
  #missingMore = 0
  readonly #key = Buffer.alloc(KEY_BYTES)

  private constructor(start: Buffer) {
    this.#start = start
  }

  /** Reads all ranges in turn; each must be counted and compared before the next is read. */
  static async *inTurn(source: WindowSource): AsyncGenerator<ReferenceWindow> {
    for (let start: Buffer | undefined = RECORDS_START; start !== undefined; ) {
      const window: ReferenceWindow = new ReferenceWindow(start)
      await window.#load(source)
      yield window
      start = window.#next
    }
  }

  async #load({ context, findings, recordsMax, read }: WindowSource): Promise<void> {
    let from: Buffer | undefined = this.#start
    while (from !== undefined && this.#records < recordsMax) {
      const limit = Math.min(PAGE, recordsMax - this.#records)
      const page = await readPage(context, { start: from, end: RECORDS_END }, limit)
      for (const { key, value } of page.entries) {
        if (key.length === KEY_BYTES) this.#push(key, read(key, value))
        else findings.problem(`record ${key.toString('hex')}: its key has no id of 16 bytes`)
      }
      if (page.damaged !== undefined) findings.problem(page.damaged.message)
      from = page.next
    }
    this.#next = from
  }

  #push(key: Buffer, { references, isSolo }: CountedRecord): void {
    let chunk = this.#chunks.at(-1)
    if (chunk === undefined || chunk.length === CHUNK_RECORDS) {
      chunk = new Chunk()
      this.#chunks.push(chunk)
    }
    const index = chunk.length++
    key.copy(chunk.keys, index * KEY_BYTES)
    chunk.recorded[index] = references
    chunk.flags[index] = isSolo ? HAS_FILE_OF_ITS_OWN : 0
    this.#records++
    if (isSolo) this.#solos++
  }

  /** Counts a reference; one to a record outside this range is counted with another. */
  count(of: Slice['of'], id: Buffer): void {
    const key = this.#keyOf(of, id)
    if (key.compare(this.#start) < 0 || (this.#next !== undefined && key.compare(this.#next) >= 0)) return
    const at = this.#find(key)
    if (at !== undefined) at.chunk.counted[at.index]!++
    else if (this.#missing.size < MISSING_MAX) this.#missing.add(`${of} ${id.toString('hex')}`)
    else this.#missingMore++
  }

  #keyOf(of: Slice['of'], id: Buffer): Buffer {
    this.#key[0] = KINDS[of]
    id.copy(this.#key, 1)
    return this.#key
  }

  #find(key: Buffer): { readonly chunk: Chunk; readonly index: number } | undefined {
    const last = lastIndex(this.#chunks.length, i => this.#chunks[i]!.compareAt(0, key) <= 0)
    const chunk = this.#chunks[last]
    if (chunk === undefined) return undefined
    const index = lastIndex(chunk.length, i => chunk.compareAt(i, key) <= 0)
    return chunk.compareAt(index, key) === 0 ? { chunk, index } : undefined
  }

  /** Reports every difference, and blobs whose file is missing. */
  async compare({ blobs }: StoreContext, findings: Findings, pace: Pace): Promise<void> {
    if (this.#solos > 0) {
      for await (const id of blobs.solos()) {
        const at = this.#find(this.#keyOf('blob', id))
        if (at !== undefined) at.chunk.flags[at.index]! |= FILE_FOUND
        await pace()
      }
    }
    for (const chunk of this.#chunks) {
      compareChunk(chunk, findings)
      await pace()
    }
    for (const name of this.#missing) findings.problem(`${name} is referenced, but has no record`)
    if (this.#missingMore > 0) findings.problem(`${this.#missingMore} more references have no record`)
  }
}

function compareChunk(chunk: Chunk, findings: Findings): void {
  for (let i = 0; i < chunk.length; i++) {
    const [recorded, counted] = [chunk.recorded[i]!, chunk.counted[i]!]
    if (recorded !== counted) {
      findings.problem(`${chunk.nameAt(i)}: ${recorded} references recorded, ${counted} counted`)
    }
    if (chunk.flags[i] === HAS_FILE_OF_ITS_OWN) findings.problem(`${chunk.nameAt(i)}: its file is missing`)
  }
}

/** The last of `length` indexes at which the condition holds, which holds for all before it; -1 when there is none. */
function lastIndex(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [-1, length - 1]
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (holds(middle)) low = middle
    else high = middle - 1
  }
  return low
}
