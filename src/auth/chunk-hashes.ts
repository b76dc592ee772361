/** The SHA-256 of one chunk of a body, computed at once, beside the event loop, or together with three others. */
import { createHash, type Hash } from 'node:crypto'
import { BodyDigest } from '../digest/body-digest.ts'
import { oneShotHash } from '../digest/one-shot-hash.ts'
import { LANE_BYTES_MAX, type Sha256Lanes, sha256Lanes } from '../digest/sha256-lanes.ts'
import { EMPTY_SHA256 } from './signing.ts'

export interface ChunkHash {
  /** A promise that is returned must be awaited before the next call. */
  update(data: Buffer): Promise<void> | undefined
  /** In hexadecimal digits, after all data; undefined as long as it waits for other chunks. */
  digest(): string | Promise<string> | undefined
  /** Releases a hash that is no longer needed. */
  abandon(): void
}

/** A longer chunk is hashed beside the event loop. */
const LOOP_BYTES_MAX = 256 * 1024
/** Below this, a group costs more than it saves. */
const GROUPED_BYTES_MIN = 8 * 1024
const GROUP_CHUNKS = 4
/** Data that waits for its group, of all bodies of this process. */
const WAITING_BYTES_MAX = 16 * 2 ** 20
/** A piece of one byte takes a hundred bytes of heap, so more pieces than this are copied into one. */
const PIECES_MAX = 16

let waitingBytes = 0

/** Chooses how the chunks of one body are hashed. */
export class ChunkHashes {
  readonly #lanes: () => Sha256Lanes | undefined
  #group: ChunkGroup | undefined

  constructor(lanes: () => Sha256Lanes | undefined = sha256Lanes) {
    this.#lanes = lanes
  }

  /** `bytesLeft` is what is left of the body, this chunk included. */
  next(size: number, bytesLeft: number): ChunkHash {
    if (this.#group?.isOpen === true && this.#group.size !== size) this.#group.end()
    if (this.#group?.isOpen !== true) this.#group = this.#nextGroup(size, bytesLeft)
    return this.#group?.add() ?? (size > LOOP_BYTES_MAX ? new BesideHash() : new LoopHash(size))
  }

  /** Nothing follows. */
  end(): void {
    this.#group?.end()
  }

  #nextGroup(size: number, bytesLeft: number): ChunkGroup | undefined {
    const isWorthIt = size >= GROUPED_BYTES_MIN && size <= LANE_BYTES_MAX && bytesLeft >= GROUP_CHUNKS * size
    if (!isWorthIt || waitingBytes + GROUP_CHUNKS * size > WAITING_BYTES_MAX) return undefined
    const lanes = this.#lanes()
    return lanes && new ChunkGroup(lanes, size)
  }
}

class LoopHash implements ChunkHash {
  readonly #size: number
  #digest: string | undefined
  /** Of data in several pieces. */
  #hash: Hash | undefined

  constructor(size: number) {
    this.#size = size
    if (size === 0) this.#digest = EMPTY_SHA256
  }

  update(data: Buffer): undefined {
    if (data.length === this.#size) this.#digest = oneShotHash('sha256', data, 'hex')
    else this.#hash = (this.#hash ?? createHash('sha256')).update(data)
  }

  digest(): string {
    return this.#digest ?? this.#hash!.digest('hex')
  }

  abandon(): void {}
}

class BesideHash implements ChunkHash {
  readonly #digest = new BodyDigest('sha256')

  update(data: Buffer): Promise<void> | undefined {
    return this.#digest.update(data)
  }

  async digest(): Promise<string> {
    return (await this.#digest.digest()).toString('hex')
  }

  abandon(): void {
    this.#digest.abandon()
  }
}

/**
 * Four chunks of equal size that follow each other, or fewer where the body turns out to be different. Room for all
 * four is reserved from the start.
 */
class ChunkGroup {
  readonly #lanes: Sha256Lanes
  readonly size: number
  readonly #chunks: GroupedHash[] = []
  #isEnded = false

  constructor(lanes: Sha256Lanes, size: number) {
    this.#lanes = lanes
    this.size = size
    waitingBytes += GROUP_CHUNKS * size
  }

  get isOpen(): boolean {
    return !this.#isEnded && !this.#isFull
  }

  get #isFull(): boolean {
    return this.#chunks.length === GROUP_CHUNKS
  }

  add(): ChunkHash {
    const chunk = new GroupedHash(this, this.size)
    this.#chunks.push(chunk)
    return chunk
  }

  /** Its chunks no longer wait for each other. */
  end(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    waitingBytes -= (GROUP_CHUNKS - this.#chunks.length) * this.size
  }

  /** Hashes the chunks that are complete, unless they still wait for others. */
  hash(): void {
    const complete = this.#chunks.filter(({ isComplete }) => isComplete)
    // Some chunks of an ended group may have been hashed already.
    if (this.#isEnded) for (const chunk of complete) chunk.hashAlone()
    else if (complete.length === GROUP_CHUNKS) this.#hashTogether()
  }

  #hashTogether(): void {
    const digests = this.#lanes.hash(
      this.#chunks.map(({ pieces }) => pieces),
      this.size,
    )
    for (const [at, chunk] of this.#chunks.entries()) chunk.finish(digests[at]!)
  }
}

class GroupedHash implements ChunkHash {
  readonly #group: ChunkGroup
  readonly #size: number
  #filled = 0
  pieces: Buffer[] = []
  /** All data, once there are many pieces. */
  #copy: Buffer | undefined
  #digest: string | undefined
  #isReleased = false

  constructor(group: ChunkGroup, size: number) {
    this.#group = group
    this.#size = size
  }

  get isComplete(): boolean {
    return this.#filled === this.#size
  }

  update(data: Buffer): undefined {
    if (this.#copy === undefined) this.pieces.push(data)
    else data.copy(this.#copy, this.#filled)
    this.#filled += data.length
    if (this.pieces.length > PIECES_MAX) {
      this.#copy = Buffer.concat(this.pieces, this.#size)
      this.pieces = [this.#copy]
    }
  }

  digest(): string | undefined {
    if (this.#digest === undefined) this.#group.hash()
    return this.#digest
  }

  finish(digest: string): void {
    this.#digest = digest
    this.abandon()
  }

  hashAlone(): void {
    if (this.#digest !== undefined) return
    const hash = createHash('sha256')
    for (const piece of this.pieces) hash.update(piece)
    this.finish(hash.digest('hex'))
  }

  abandon(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.pieces = []
    this.#copy = undefined
    waitingBytes -= this.#size
  }
}
