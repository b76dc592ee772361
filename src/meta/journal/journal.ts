/**
 * The journal of one process: every commit of the engine, written after it. No commit waits for it and none is synced
 * twice: rows are collected for some milliseconds, appended in one write, and synced once a second. Rows not synced at
 * a crash are in the engine, which recovers by its own protocol (docs/decisions/second-copy.md). A journal that cannot
 * be written has a gap, which its successor reports and the next snapshot closes.
 */
import { type Clock, systemClock } from '../../lib/clock.ts'
import { format, struct, text, uint } from '../../lib/codec.ts'
import type { Disk, DiskFile } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Random } from '../../lib/random.ts'
import type { CommitJournal, CommitMark, Write } from '../meta.ts'
import {
  type CommitOrder,
  type CopyRow,
  closeFrame,
  FRAME_HEAD_BYTES,
  frameOf,
  rowBytes,
  writeRow,
} from './copy-format.ts'
import { deletionNoteKey, isDeletionNote, noteValue } from './deletion-notes.ts'
import { journalPath } from './files.ts'
import { NoteSlots } from './note-slots.ts'

const CHUNK_BYTES = 2 ** 18
const FLUSH_MS = 10
const SYNC_MS = 1_000
/** Pause after a failure, which is likely to persist for a moment. */
const RETRY_MS = 1_000
const SEGMENT_BYTES = 32 * 2 ** 20
/** On a disk that does not keep up a gap is better than unbounded memory. */
const STAGED_BYTES_MAX = 32 * 2 ** 20
const SPARE_CHUNKS_MAX = 4

interface Head {
  readonly title: string
  /** Commits missing from the journals of this process, because the previous file could not be written. */
  readonly lost: number
  /** Every later stamp of this process is greater. */
  readonly stamp: number
}

export const JOURNAL_TITLE = 'holdfast journal 1'
export const journalHead = format<Head>('JH', struct<Head>({ title: text, lost: uint, stamp: uint }))

interface JournalOptions {
  readonly disk: Disk
  readonly folder: string
  readonly generation: number
  readonly random: Random
  readonly durability: 'fsync' | 'os'
  readonly clock?: Clock
  /** The greatest stamp the process has assigned, or the one before its first. */
  readonly lastStamp: number
  /** A file that has reached this size is followed by the next. */
  readonly segmentBytes?: number
  /** Called once per gap, when the journal cannot be written. */
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

/** Writes a separate journal with writes that no other contains, as of one commit. */
export async function writeSupplement(
  { disk, folder, random }: Pick<JournalOptions, 'disk' | 'folder' | 'random'>,
  at: CommitOrder,
  rows: readonly Pick<CopyRow, 'key' | 'value' | 'stamp'>[],
): Promise<void> {
  // No process assigns stamps under its writer id.
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
  /** Replaced after a gap: deletions noted under the old id are in no journal. */
  #writer: Buffer
  #number = 0
  #slots = new NoteSlots()
  #seq = 0
  #lastStamp: number
  /** The last stamp written to a file. */
  #writtenStamp: number
  #segment: Segment | undefined
  #staged: Chunk[] = []
  #stagedBytes = 0
  readonly #spare: Buffer[] = []
  /** Bytes of rows so far: appended, written, on stable storage. */
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

  /** Makes the first file durable: a stamp of a process without a journal would be taken for damage. */
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

  /** Called before the commit is issued. `firstStamp` belongs to its first put; the others follow. */
  begin(writes: readonly Write[], firstStamp: number): CommitMark {
    const deletes = writes.some(({ key, value }) => value === undefined && !isDeletionNote(key))
    return { seq: ++this.#seq, firstStamp, slot: deletes ? this.#slots.take() : undefined, writer: this.#writer }
  }

  /** The deletion note to write in the same commit. */
  noteOf({ seq, slot, writer }: CommitMark, writes: readonly Write[]): { key: Buffer; value: Buffer } | undefined {
    if (slot === undefined) return undefined
    return { key: deletionNoteKey(this.generation, writer, slot), value: noteValue(seq, writes) }
  }

  /** The commit failed. */
  aborted({ slot, writer }: CommitMark): void {
    if (slot !== undefined && writer === this.#writer) this.#slots.free(slot)
  }

  /** The commit succeeded in this transaction. Called in the order of `begin`. */
  committed(mark: CommitMark, txn: number, writes: readonly Write[]): void {
    // A commit begun before a gap: its note stays, since no journal of that writer will contain it.
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
    if (mark.slot !== undefined) this.#slots.fill(mark.slot, this.#appended)
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

  /** Writes everything staged, including rows added meanwhile. */
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
      // A failed sync in between has discarded this file and the rows just written.
      if (this.#segment !== segment) continue
      segment.at += frames.reduce((sum, { length }) => sum + length, 0)
      this.#written = appended
      this.#writtenStamp = lastStamp
      this.#stagedCommits -= commits
      for (const { buffer } of chunks) {
        if (buffer.length === CHUNK_BYTES && this.#spare.length < SPARE_CHUNKS_MAX) this.#spare.push(buffer)
      }
      if (this.#options.durability === 'os') this.#slots.release(this.#written)
      else this.#stopSync ??= this.#clock.after(SYNC_MS, () => void this.#sync())
    }
  }

  /** The file to append to; a new one when there is none or the old one is full. */
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
    // Staged rows follow this head: until they are written, their stamps are not journaled.
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
    this.#slots.release(this.#durable)
  }

  /** Commits do not depend on the journal. Staged rows are lost, which the next file reports. */
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
    this.#slots = new NoteSlots()
    this.#number = 0
  }

  /** Resolves when everything appended is on stable storage or discarded. */
  async settle(): Promise<void> {
    if (this.#staged.length > 0) this.#drain()
    await this.#draining
    await this.#syncing
    if (this.#written > this.#durable) await this.#sync()
  }

  /** Called after the engine is closed, so that every commit is journaled. */
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
    // A process that never committed needs no journal.
    if (this.#appended === 0) await this.#options.disk.remove(segment.path)
  }
}
