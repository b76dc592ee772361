/**
 * Reads a range of one blob: whole frames in chunks of about 512 KiB, the next chunk while the last one is consumed,
 * every frame checked before it is handed on. Memory stays flat whatever the length.
 */
import { crc32 } from '../lib/crc.ts'
import type { DiskFile } from '../lib/disk.ts'
import { type BlobId, DamagedBlob, type Place } from './blobs.ts'
import {
  CHECK_BYTES,
  expectedHead,
  FOOT_BYTES,
  footOf,
  frameSeed,
  frameStart,
  HEAD_BYTES,
  idSeed,
  type Kind,
  storedBytes,
} from './frames.ts'

/** Two of them are in memory for each reader. Measured: twice as large is no faster, half as large is slower. */
const CHUNK_BYTES = 2 ** 19
/** Up to this far behind the head, the first frames are read together with it; reading on is cheaper than a call. */
const SKIPPED_BYTES_MAX = 64 * 1024

interface Chunk {
  readonly bytes: Buffer
  /** Frames [first, last) start here. */
  readonly at: number
  readonly first: number
  readonly last: number
}

class FrameReader {
  readonly #file: DiskFile
  readonly #id: BlobId
  readonly #place: Place
  readonly #kind: Kind
  readonly #idSeed: number

  constructor(file: DiskFile, id: BlobId, place: Place) {
    this.#file = file
    this.#id = id
    this.#place = place
    this.#kind = place.volume === undefined ? 'solo' : 'packed'
    this.#idSeed = idSeed(id)
  }

  /** The first chunk: with it the head is checked, in the same read where it is near. */
  async open(first: number, last: number): Promise<Chunk> {
    const { frameBytes } = this.#place
    const skipped = frameStart(first, frameBytes) - HEAD_BYTES
    if (first < last && skipped > SKIPPED_BYTES_MAX) {
      const [head, chunk] = await Promise.all([this.#read(0, HEAD_BYTES), this.chunk(first, last)])
      this.#checkHead(head)
      return chunk
    }
    const bytes = await this.#read(0, this.#endOf(last))
    this.#checkHead(bytes)
    this.#checkFoot(bytes, 0, last)
    return { bytes, at: HEAD_BYTES + skipped, first, last }
  }

  async chunk(first: number, last: number): Promise<Chunk> {
    const start = frameStart(first, this.#place.frameBytes)
    const bytes = await this.#read(start, this.#endOf(last))
    this.#checkFoot(bytes, start, last)
    return { bytes, at: 0, first, last }
  }

  /** Payload of one frame of the chunk. */
  frame({ bytes, at, first }: Chunk, index: number): Buffer {
    const { frameBytes, length } = this.#place
    const start = at + (index - first) * (CHECK_BYTES + frameBytes)
    const payloadBytes = Math.min(frameBytes, length - index * frameBytes)
    const payload = bytes.subarray(start + CHECK_BYTES, start + CHECK_BYTES + payloadBytes)
    if (crc32(payload, frameSeed(this.#idSeed, index)) !== bytes.readUInt32BE(start)) {
      throw new DamagedBlob(this.#id, `frame ${index} does not match its checksum`)
    }
    return payload
  }

  /** Where the frames before `last` end, counted from the head; behind the foot, if they are the last of a file. */
  #endOf(last: number): number {
    const { frameBytes } = this.#place
    const whole = storedBytes(this.#place)
    if (last < this.#frames()) return frameStart(last, frameBytes)
    return this.#kind === 'solo' ? whole + FOOT_BYTES : whole
  }

  #frames(): number {
    return Math.ceil(this.#place.length / this.#place.frameBytes)
  }

  async #read(start: number, end: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(end - start)
    const got = await this.#file.read(bytes, this.#place.offset + start)
    if (got < bytes.length) throw new DamagedBlob(this.#id, `the file ends ${bytes.length - got} bytes early`)
    return bytes
  }

  #checkHead(bytes: Buffer): void {
    if (!bytes.subarray(0, HEAD_BYTES).equals(expectedHead(this.#kind, this.#id, this.#place))) {
      throw new DamagedBlob(this.#id, 'the header is not the one of this blob')
    }
  }

  #checkFoot(bytes: Buffer, start: number, last: number): void {
    if (this.#kind !== 'solo' || last < this.#frames()) return
    const at = storedBytes(this.#place) - start
    if (!bytes.subarray(at, at + FOOT_BYTES).equals(footOf(this.#id, this.#place.length))) {
      throw new DamagedBlob(this.#id, 'the footer is not the one of this blob')
    }
  }
}

/** Where the frames are read from. */
export interface FrameSource {
  open(): Promise<DiskFile>
  /** Called once, whatever happened, opening included. */
  release(): void
}

/** Payload bytes [start, end). Nothing is opened before the first of them is asked for. */
export async function* readFrames(
  source: FrameSource,
  id: BlobId,
  place: Place,
  [start, end]: readonly [number, number],
): AsyncGenerator<Buffer, void, undefined> {
  const { frameBytes } = place
  const perChunk = Math.max(1, Math.floor(CHUNK_BYTES / (CHECK_BYTES + frameBytes)))
  const first = Math.floor(start / frameBytes)
  const last = end > start ? Math.ceil(end / frameBytes) : first
  let ahead: Promise<Chunk> | undefined
  try {
    const reader = new FrameReader(await source.open(), id, place)
    ahead = reader.open(first, Math.min(first + perChunk, last))
    while (ahead !== undefined) {
      const chunk: Chunk = await ahead
      ahead = chunk.last < last ? reader.chunk(chunk.last, Math.min(chunk.last + perChunk, last)) : undefined
      // It is awaited in the next round, or below: until then a failure is nobody's.
      ahead?.catch(() => {})
      for (let index = chunk.first; index < chunk.last; index++) {
        const payload = reader.frame(chunk, index)
        const base = index * frameBytes
        yield payload.subarray(Math.max(0, start - base), Math.min(payload.length, end - base))
      }
    }
  } finally {
    // A read that still runs must not meet a closed file.
    await ahead?.catch(() => {})
    source.release()
  }
}
