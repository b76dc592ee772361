/**
 * The journal of one process: every commit that the engine has taken, written down behind it. Nobody waits for it
 * and no commit is synced twice: rows are gathered for some milliseconds, appended in one go, synced once a second.
 * What is not synced at a crash is in the engine, which is whole by its own protocol (docs/decisions/second-copy.md).
 * A journal that cannot be written has a gap, which the next one tells and the next snapshot heals.
 */
import { type Clock, systemClock } from '../../lib/clock.ts'
import { format, struct, text, uint } from '../../lib/codec.ts'
import type { Disk, DiskFile } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Random } from '../../lib/random.ts'
import type { CommitJournal, CommitMark, Write } from '../meta.ts'
import { deletionNoteKey, isDeletionNote, noteValue } from './deletion-notes.ts'
import { journalPath } from './files.ts'
import { closeFrame, FRAME_HEAD_BYTES, frameOf } from './frames.ts'
import { NoteSlots } from './note-slots.ts'
import { type CommitOrder, type CopyRow, rowBytes, writeRow } from './rows.ts'

const CHUNK_BYTES = 2 ** 18
const FLUSH_MS = 10
const SYNC_MS = 1_000
/** After a failure: as long as there is no room there may be none a moment later. */
const RETRY_MS = 1_000
const SEGMENT_BYTES = 32 * 2 ** 20
/** A disk that does not keep up: rather a gap than memory without end. */
const STAGED_BYTES_MAX = 32 * 2 ** 20
const SPARE_CHUNKS_MAX = 4

interface Head {
  readonly title: string
  /** Commits that are in no journal of this process, since the one before could not be written. */
  readonly lost: number
  /** Every stamp that this process gives from here on is greater. */
  readonly stamp: number
}

export const JOURNAL_TITLE = 'holdfast journal 1'
export const journalHead = format<Head>('JH', struct<Head>({ title: text, lost: uint, stamp: uint }))

export interface JournalOptions {
  readonly disk: Disk
  readonly folder: string
  readonly generation: number
  readonly random: Random
  readonly durability: 'fsync' | 'os'
  readonly clock?: Clock
  /** The greatest stamp that the process has given, or the one before its first. */
  readonly lastStamp: number
  /** A file that has reached this size is followed by the next. */
  readonly segmentBytes?: number
  /** The journal cannot be written: said once for each gap. */
  readonly onGap?: (error: unknown) => void
}

interface Chunk {
  readonly buffer: Buffer
  used: number
}

interface Segment {
  readonly file: DiskFile
  readonly path: string
  at: number
  isNamed: boolean
}

/** A journal of its own for what no other tells, as of one moment. */
export async function writeSupplement(
  { disk, folder, random }: Pick<JournalOptions, 'disk' | 'folder' | 'random'>,
  at: CommitOrder,
  rows: readonly Pick<CopyRow, 'key' | 'value' | 'stamp'>[],
): Promise<void> {
  // Nobody gives stamps in its name.
  const head = { title: JOURNAL_TITLE, lost: 0, stamp: Number.MAX_SAFE_INTEGER }
  const frames = [frameOf('head', journalHead.encode(head))]
  for (const row of rows) {
    const payload = Buffer.allocUnsafe(rowBytes(row.key, row.value))
    writeRow(payload, 0, at, row)
    frames.push(frameOf('rows', payload))
  }
  const file = await disk.open(journalPath(folder, at.generation, random.bytes(WRITER_BYTES), 1), 'create')
  try {
    await file.write([...frames, frameOf('end', Buffer.alloc(0))], 0)
    await file.datasync()
  } finally {
    await file.close()
  }
  await disk.syncFolder(folder)
}

export class Journal implements CommitJournal {
  readonly generation: number
  readonly #options: JournalOptions
  readonly #clock: Clock
  /** Another one after a gap: what a note of the old one tells is in no journal. */
  #writer: Buffer
  #number = 0
  #places = new NoteSlots()
  #seq = 0
  #lastStamp: number
  /** The last one that stands in a file. */
  #writtenStamp: number
  #segment: Segment | undefined
  #staged: Chunk[] = []
  #stagedBytes = 0
  readonly #spare: Buffer[] = []
  /** Bytes of rows so far: handed in, written, on stable storage. */
  #appended = 0
  #written = 0
  #durable = 0
  #stagedCommits = 0
  #lost = 0
  #gaps = 0
  #isBroken = false
  #retryAt = 0
  #draining: Promise<void> | undefined
  #syncing: Promise<void> | undefined
  #stopFlush: (() => void) | undefined
  #stopSync: (() => void) | undefined
  #closed = false

  constructor(options: JournalOptions) {
    this.#options = options
    this.generation = options.generation
    this.#clock = options.clock ?? systemClock
    this.#writer = options.random.bytes(WRITER_BYTES)
    this.#lastStamp = options.lastStamp
    this.#writtenStamp = options.lastStamp
  }

  /** With its first file in place, on stable storage: stamps of a process that nobody knows of are taken for damage. */
  static async open(options: JournalOptions): Promise<Journal> {
    const journal = new Journal(options)
    await options.disk.makeFolder(options.folder)
    journal.#segment = await journal.#openSegment()
    await journal.#makeDurable(journal.#segment, 0)
    return journal
  }

  get gaps(): number {
    return this.#gaps
  }

  /** Before the commit is handed to the engine. `firstStamp`: of its first put; the others follow. */
  begin(writes: readonly Write[], firstStamp: number): CommitMark {
    const deletes = writes.some(({ key, value }) => value === undefined && !isDeletionNote(key))
    return { seq: ++this.#seq, firstStamp, place: deletes ? this.#places.take() : undefined, writer: this.#writer }
  }

  /** What is to be written in the same commit. */
  noteOf({ seq, place, writer }: CommitMark, writes: readonly Write[]): { key: Buffer; value: Buffer } | undefined {
    if (place === undefined) return undefined
    return { key: deletionNoteKey(this.generation, writer, place), value: noteValue(seq, writes) }
  }

  /** The engine did not take it. */
  aborted({ place, writer }: CommitMark): void {
    if (place !== undefined && writer === this.#writer) this.#places.giveBack(place)
  }

  /** The engine took it, in this transaction. In the order of `begin`. */
  committed(mark: CommitMark, txn: number, writes: readonly Write[]): void {
    // CommitMark before a gap: its note stays, since no journal of that writer will tell of it.
    if (mark.writer !== this.#writer) return void this.#lost++
    let bytes = 0
    for (const { key, value } of writes) if (!isDeletionNote(key)) bytes += rowBytes(key, value)
    if (bytes === 0) return
    const chunk = this.#chunkFor(bytes)
    const order = { generation: this.generation, txn, seq: mark.seq }
    let stamp = mark.firstStamp
    let at = chunk.used
    for (const { key, value } of writes) {
      const own = value === undefined ? 0 : stamp++
      if (!isDeletionNote(key)) at = writeRow(chunk.buffer, at, order, { key, value, stamp: own })
    }
    this.#lastStamp = stamp - 1
    this.#stagedBytes += at - chunk.used
    this.#appended += at - chunk.used
    chunk.used = at
    this.#stagedCommits++
    if (mark.place !== undefined) this.#places.fill(mark.place, this.#appended)
    if (this.#stagedBytes > STAGED_BYTES_MAX) this.#fail(new Error('the disk does not keep up with the journal'))
    else if (this.#stagedBytes >= CHUNK_BYTES) this.#drain()
    else this.#stopFlush ??= this.#clock.after(FLUSH_MS, () => this.#drain())
  }

  #chunkFor(bytes: number): Chunk {
    const last = this.#staged.at(-1)
    if (last !== undefined && last.used + bytes <= last.buffer.length) return last
    const needed = FRAME_HEAD_BYTES + bytes
    const buffer = needed > CHUNK_BYTES ? Buffer.allocUnsafeSlow(needed) : this.#spare.pop()
    const chunk = { buffer: buffer ?? Buffer.allocUnsafeSlow(CHUNK_BYTES), used: FRAME_HEAD_BYTES }
    this.#staged.push(chunk)
    return chunk
  }

  #drain(): void {
    this.#stopFlush?.()
    this.#stopFlush = undefined
    this.#draining ??= this.#writeOut()
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#draining = undefined
      })
  }

  /** Everything that is staged, and what comes meanwhile. */
  async #writeOut(): Promise<void> {
    while (this.#staged.length > 0) {
      if (this.#segment === undefined && this.#clock.elapsed() < this.#retryAt) return this.#drop()
      const segment = await this.#current()
      const [chunks, appended, commits] = [this.#staged, this.#appended, this.#stagedCommits]
      const lastStamp = this.#lastStamp
      this.#staged = []
      this.#stagedBytes = 0
      const frames = chunks.map(({ buffer, used }) => buffer.subarray(0, used))
      for (const frame of frames) closeFrame(frame, 'rows')
      await segment.file.write(frames, segment.at)
      // A failure of the sync in between has given this file up, and with it what was just written.
      if (this.#segment !== segment) continue
      segment.at += frames.reduce((sum, { length }) => sum + length, 0)
      this.#written = appended
      this.#writtenStamp = lastStamp
      this.#stagedCommits -= commits
      for (const { buffer } of chunks) {
        if (buffer.length === CHUNK_BYTES && this.#spare.length < SPARE_CHUNKS_MAX) this.#spare.push(buffer)
      }
      if (this.#options.durability === 'os') this.#places.release(this.#written)
      else this.#stopSync ??= this.#clock.after(SYNC_MS, () => void this.#sync())
    }
  }

  /** The file that is appended to; a new one when there is none, or the old one has had its time. */
  async #current(): Promise<Segment> {
    const segment = this.#segment
    if (segment !== undefined) {
      if (segment.at < (this.#options.segmentBytes ?? SEGMENT_BYTES)) return segment
      await this.#endSegment(segment)
    }
    this.#segment = await this.#openSegment()
    return this.#segment
  }

  async #openSegment(): Promise<Segment> {
    const { disk, folder } = this.#options
    const path = journalPath(folder, this.generation, this.#writer, ++this.#number)
    const file = await disk.open(path, 'create')
    // What is staged comes behind this head: until it is there, it is untold.
    const { title, lost, stamp } = { title: JOURNAL_TITLE, lost: this.#lost, stamp: this.#writtenStamp }
    const head = frameOf('head', journalHead.encode({ title, lost, stamp }))
    try {
      await file.write([head], 0)
    } catch (error) {
      await file.close()
      await disk.remove(path)
      throw error
    }
    this.#lost = 0
    this.#isBroken = false
    return { file, path, at: head.length, isNamed: false }
  }

  async #endSegment(segment: Segment): Promise<void> {
    await this.#syncing
    await segment.file.write([frameOf('end', Buffer.alloc(0))], segment.at)
    await this.#makeDurable(segment, this.#written)
    this.#segment = undefined
    await segment.file.close()
  }

  async #sync(): Promise<void> {
    this.#stopSync?.()
    this.#stopSync = undefined
    const segment = this.#segment
    if (segment === undefined || this.#syncing !== undefined) return
    const position = this.#written
    this.#syncing = this.#makeDurable(segment, position)
      .catch((error: unknown) => this.#fail(error))
      .finally(() => {
        this.#syncing = undefined
        if (this.#written > position && !this.#closed) {
          this.#stopSync ??= this.#clock.after(SYNC_MS, () => void this.#sync())
        }
      })
    await this.#syncing
  }

  async #makeDurable(segment: Segment, position: number): Promise<void> {
    if (this.#options.durability === 'os') return
    await segment.file.datasync()
    if (!segment.isNamed) await this.#options.disk.syncFolder(this.#options.folder)
    segment.isNamed = true
    if (this.#segment !== segment) return
    this.#durable = position
    this.#places.release(this.#durable)
  }

  /** Commits stand without it. What was staged is lost, and told by the file that comes next. */
  #fail(error: unknown): void {
    if (!this.#isBroken) {
      this.#gaps++
      this.#options.onGap?.(error)
    }
    this.#isBroken = true
    this.#segment?.file.close().catch(() => {})
    this.#segment = undefined
    this.#retryAt = this.#clock.elapsed() + RETRY_MS
    this.#drop()
  }

  #drop(): void {
    this.#lost += this.#stagedCommits
    this.#stagedCommits = 0
    this.#staged = []
    this.#stagedBytes = 0
    this.#writer = this.#options.random.bytes(WRITER_BYTES)
    this.#places = new NoteSlots()
    this.#number = 0
  }

  /** Resolves when everything that was handed in is on stable storage, or given up. */
  async settle(): Promise<void> {
    if (this.#staged.length > 0) this.#drain()
    await this.#draining
    await this.#syncing
    if (this.#written > this.#durable) await this.#sync()
  }

  /** After the engine is closed: everything that it took is told. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#retryAt = 0
    this.#stopSync?.()
    await this.#draining
    if (this.#staged.length > 0) this.#drain()
    this.#stopFlush?.()
    await this.#draining
    const segment = this.#segment
    if (segment === undefined) return
    await this.#endSegment(segment).catch((error: unknown) => this.#fail(error))
    // Of a process that never committed anything nobody needs to know.
    if (this.#appended === 0) await this.#options.disk.remove(segment.path)
  }
}
