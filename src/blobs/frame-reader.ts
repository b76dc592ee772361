/**
 * Reads a range of one blob: whole frames in chunks of up to 512 KiB, with every frame checked before its bytes are
 * returned. Chunks in the page cache are read one by one on the event loop, others by threads or over the network, the
 * next ones while the last one is consumed. Memory is bounded for any length and any number of readers.
 */
import assert from 'node:assert/strict'
import { CHUNK_BYTES, takeChunk } from '../lib/buffer-pool.ts'
import { EMPTY } from '../lib/bytes.ts'
import { crc32 } from '../lib/crc.ts'
import type { ReadableFile } from '../lib/disk.ts'
import { type MaybePromise, withFinally } from '../lib/maybe-promise.ts'
import { noteExternalBytes } from '../lib/runtime.ts'
import { type BlobId, type BlobLocation, DamagedBlob } from './blobs.ts'
import {
  type BlobKind,
  expectedHeader,
  FOOTER_BYTES,
  FRAME_CRC_BYTES,
  footerOf,
  frameSeed,
  frameStart,
  HEADER_BYTES,
  idSeed,
} from './frames.ts'

/** Shared by all readers of the process; above it their chunks shrink, down to one frame. */
const BUDGET_BYTES = 32 * 2 ** 20
/** The kernel accepts 1,024 buffers per call (IOV_MAX), and a frame uses two. */
const FRAMES_MAX = 256
/** Of a range that is read as a whole. Page cache, memory and checks of one part fit a second-level cache. */
const PART_BYTES = 256 * 1024
/** If the first frame is this close to the header, one read covers both: extra bytes are cheaper than another call. */
const SKIPPED_BYTES_MAX = 64 * 1024

const NO_FRAMES: Chunk = { payload: EMPTY, checks: EMPTY, first: 0, last: 0 }

/** Active readers in this process. */
let readers = 0

/** How many frames a reader, which holds the chunk that it reads and those ahead, may currently read at once. */
function framesAtOnce(frameBytes: number, readsAhead = 1): number {
  const bytes = Math.min(CHUNK_BYTES, BUDGET_BYTES / ((1 + readsAhead) * Math.max(1, readers)))
  return framesIn(bytes, frameBytes)
}

const framesIn = (bytes: number, frameBytes: number): number =>
  Math.min(FRAMES_MAX, Math.max(1, Math.floor(bytes / frameBytes)))

interface Chunk {
  /** The payload of frames [first, last), without the CRCs between them. */
  readonly payload: Buffer
  /** The CRCs of these frames. */
  readonly checks: Buffer
  readonly first: number
  readonly last: number
}

class FrameReader {
  readonly #file: ReadableFile
  readonly #id: BlobId
  readonly #location: BlobLocation
  readonly #kind: BlobKind
  readonly #idSeed: number
  /** The requested payload bytes. */
  readonly #range: readonly [number, number]
  /** False once a read went to a thread: the rest is probably not in the page cache either. */
  isCached = true

  constructor(file: ReadableFile, id: BlobId, location: BlobLocation, range: readonly [number, number]) {
    this.#file = file
    this.#id = id
    this.#location = location
    this.#kind = location.volume === undefined ? 'solo' : 'packed'
    this.#idSeed = idSeed(id)
    this.#range = range
  }

  /** Memory for the payload of frames [first, last). */
  payloadOf(first: number, last: number): Buffer {
    const { frameBytes, length } = this.#location
    const bytes = Math.min(last * frameBytes, length) - first * frameBytes
    noteExternalBytes?.(bytes)
    return takeChunk(bytes)
  }

  /** Reads the first chunk and checks the header, in the same read if it is near. */
  open(first: number, last: number, payload = this.payloadOf(first, last)): MaybePromise<Chunk> {
    const skipped = frameStart(first, this.#location.frameBytes) - HEADER_BYTES
    if (first < last && skipped <= SKIPPED_BYTES_MAX) return this.#chunk(first, last, HEADER_BYTES + skipped, payload)
    return this.#apart(first, last, payload)
  }

  async #apart(first: number, last: number, payload: Buffer): Promise<Chunk> {
    const head = Buffer.allocUnsafe(HEADER_BYTES)
    const filled = this.#fill([head], 0, head.length)
    const chunk = first < last ? this.chunk(first, last, payload) : NO_FRAMES
    // The caller closes the file after an error, so neither read may outlast the other.
    await Promise.allSettled([filled, chunk])
    await filled
    this.#checkHead(head)
    return chunk
  }

  chunk(first: number, last: number, payload = this.payloadOf(first, last)): MaybePromise<Chunk> {
    return this.#chunk(first, last, 0, payload)
  }

  /** Reads frames [first, last), starting `ahead` bytes before them to include the header. Payload is contiguous. */
  #chunk(first: number, last: number, ahead: number, payload: Buffer): MaybePromise<Chunk> {
    const { frameBytes } = this.#location
    const count = last - first
    const footBytes = this.#kind === 'solo' && last === this.#frames() ? FOOTER_BYTES : 0
    const marks = Buffer.allocUnsafe(ahead + count * FRAME_CRC_BYTES + footBytes)
    const checks = marks.subarray(ahead, ahead + count * FRAME_CRC_BYTES)
    const foot = marks.subarray(marks.length - footBytes)
    const pieces: Buffer[] = ahead > 0 ? [marks.subarray(0, ahead)] : []
    for (let n = 0; n < count; n++) {
      pieces.push(checks.subarray(n * FRAME_CRC_BYTES, (n + 1) * FRAME_CRC_BYTES))
      pieces.push(payload.subarray(n * frameBytes, (n + 1) * frameBytes))
    }
    if (footBytes > 0) pieces.push(foot)
    const filled = this.#fill(pieces, frameStart(first, frameBytes) - ahead, marks.length + payload.length)
    const checked = (): Chunk => {
      if (ahead > 0) this.#checkHead(marks)
      if (footBytes > 0) this.#checkFoot(foot)
      return { payload, checks, first, last }
    }
    return filled instanceof Promise ? filled.then(checked) : checked()
  }

  /** The number of leading frames whose CRC matches. */
  soundFrames({ payload, checks, first, last }: Chunk): number {
    const { frameBytes } = this.#location
    for (let index = first; index < last; index++) {
      const at = (index - first) * frameBytes
      const check = checks.readUInt32BE((index - first) * FRAME_CRC_BYTES)
      if (crc32(payload.subarray(at, at + frameBytes), frameSeed(this.#idSeed, index)) !== check) return index - first
    }
    return last - first
  }

  /** The part of the range in the chunk's first `frames` frames. */
  bytesOf({ payload, first }: Pick<Chunk, 'payload' | 'first'>, frames: number): Buffer {
    const { from, length } = this.#wanted(first, Math.min(payload.length, frames * this.#location.frameBytes))
    return payload.subarray(from, from + Math.max(0, length))
  }

  /** The position of the range within this much payload. */
  #wanted(first: number, bytes: number): { readonly from: number; readonly length: number } {
    const [start, end] = this.#range
    const base = first * this.#location.frameBytes
    const from = Math.max(0, start - base)
    return { from, length: Math.min(bytes, end - base) - from }
  }

  #frames(): number {
    return Math.ceil(this.#location.length / this.#location.frameBytes)
  }

  #fill(pieces: readonly Buffer[], start: number, bytes: number): MaybePromise<void> {
    const at = this.#location.offset + start
    const soon = this.isCached ? this.#file.readCached?.(pieces, at) : undefined
    const got = soon ?? this.#file.read(pieces, at)
    if (got instanceof Promise) this.isCached = false
    return got instanceof Promise ? got.then(count => this.#checkFilled(count, bytes)) : this.#checkFilled(got, bytes)
  }

  #checkFilled(got: number, bytes: number): void {
    if (got < bytes) throw new DamagedBlob(this.#id, `the file ends ${bytes - got} bytes early`)
  }

  #checkHead(bytes: Buffer): void {
    if (!bytes.subarray(0, HEADER_BYTES).equals(expectedHeader(this.#kind, this.#id, this.#location))) {
      throw new DamagedBlob(this.#id, 'the header is not the one of this blob')
    }
  }

  #checkFoot(foot: Buffer): void {
    if (!foot.equals(footerOf(this.#id, this.#location.length))) {
      throw new DamagedBlob(this.#id, 'the footer is not the one of this blob')
    }
  }
}

/** Throws unless [start, end) lies within the blob. */
export function checkRange(location: BlobLocation, start: number, end: number): void {
  assert(
    0 <= start && start <= end && end <= location.length,
    `[${start}, ${end}) is not within ${location.length} bytes`,
  )
}

const damagedFrame = (id: BlobId, frame: number): DamagedBlob =>
  new DamagedBlob(id, `frame ${frame} does not match its checksum`)

/**
 * Payload bytes [start, end) as one buffer, synchronously while the file is in the page cache: a part of it at a time,
 * whose frames are checked while they are in the processor's cache. Undefined for an empty range.
 */
export function readWholeFrames(
  file: ReadableFile,
  id: BlobId,
  location: BlobLocation,
  [start, end]: readonly [number, number],
): MaybePromise<Buffer | undefined> {
  if (start >= end) return undefined
  const { frameBytes } = location
  const first = Math.floor(start / frameBytes)
  const last = Math.ceil(end / frameBytes)
  const reader = new FrameReader(file, id, location, [start, end])
  const payload = reader.payloadOf(first, last)
  const check = (chunk: Chunk): void => {
    const sound = reader.soundFrames(chunk)
    if (chunk.first + sound < chunk.last) throw damagedFrame(id, chunk.first + sound)
  }
  const readFrom = (from: number): MaybePromise<Buffer> => {
    for (let at = from; at < last; ) {
      // Elsewhere every read is a round trip.
      const next = reader.isCached && file.readCached ? Math.min(at + framesIn(PART_BYTES, frameBytes), last) : last
      const part = payload.subarray((at - first) * frameBytes, (next - first) * frameBytes)
      const chunk = at === first ? reader.open(at, next, part) : reader.chunk(at, next, part)
      if (chunk instanceof Promise) {
        return chunk.then(read => {
          check(read)
          return readFrom(next)
        })
      }
      check(chunk)
      at = next
    }
    return reader.bytesOf({ payload, first }, last - first)
  }
  readers++
  return withFinally(
    () => readFrom(first),
    () => {
      readers--
    },
  )
}

export interface FrameSource {
  open(): Promise<ReadableFile>
  /** Called exactly once, even if opening failed. */
  release(): void
}

/** Lets the event loop serve other requests. */
const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** The promise is awaited later; until then a rejection must not count as unhandled. */
function inTheBackground(chunk: MaybePromise<Chunk>): MaybePromise<Chunk> {
  if (chunk instanceof Promise) chunk.catch(() => {})
  return chunk
}

/** Payload bytes [start, end). Nothing is opened before the first of them is requested. */
export async function* readFrames(
  source: FrameSource,
  id: BlobId,
  location: BlobLocation,
  [start, end]: readonly [number, number],
): AsyncGenerator<Buffer, void, undefined> {
  const { frameBytes } = location
  const first = Math.floor(start / frameBytes)
  const last = end > start ? Math.ceil(end / frameBytes) : first
  const pending: MaybePromise<Chunk>[] = []
  readers++
  try {
    const file = await source.open()
    const { readsAhead = 1 } = file
    const upTo = (from: number): number => Math.min(from + framesAtOnce(frameBytes, readsAhead), last)
    const reader = new FrameReader(file, id, location, [start, end])
    let next = upTo(first)
    const readNext = (): MaybePromise<Chunk> => {
      const from = next
      next = upTo(from)
      return reader.chunk(from, next)
    }
    pending.push(reader.open(first, next))
    while (pending.length > 0) {
      const chunk = await pending[0]!
      pending.shift()
      while (!reader.isCached && next < last && pending.length < readsAhead) pending.push(inTheBackground(readNext()))
      const sound = reader.soundFrames(chunk)
      if (sound > 0) yield reader.bytesOf(chunk, sound)
      const damaged = chunk.first + sound
      if (damaged < chunk.last) throw damagedFrame(id, damaged)
      if (next < last && pending.length === 0) {
        // Neither the read nor a fast client makes this stream wait.
        await turn()
        pending.push(readNext())
      }
    }
  } finally {
    readers--
    // The file must not be closed during a read.
    await Promise.allSettled(pending)
    source.release()
  }
}
