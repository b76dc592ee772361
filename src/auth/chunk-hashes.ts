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
/** Chunks of a group have their own cost, which hashing less would not make up for. */
const GROUPED_BYTES_MIN = 8 * 1024
const GROUP_CHUNKS = 4
/** Data that waits for its group, of all bodies of this process. */
const WAITING_BYTES_MAX = 16 * 2 ** 20

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
    if (size > LOOP_BYTES_MAX) return new BesideHash()
    if (this.#group?.hasRoom !== true) this.#group = this.#nextGroup(size, bytesLeft)
    else if (this.#group.size !== size) {
      this.#group.end()
      this.#group = this.#nextGroup(size, bytesLeft)
    }
    return this.#group?.add() ?? new LoopHash(size)
  }

  /** No data follows. */
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

/** Four chunks of equal size that follow each other, or fewer where the body turns out to be different. */
class ChunkGroup {
  readonly #lanes: Sha256Lanes
  readonly size: number
  readonly #chunks: GroupedHash[] = []
  #isEnded = false

  constructor(lanes: Sha256Lanes, size: number) {
    this.#lanes = lanes
    this.size = size
  }

  get hasRoom(): boolean {
    return this.#chunks.length < GROUP_CHUNKS
  }

  add(): ChunkHash {
    waitingBytes += this.size
    const chunk = new GroupedHash(this, this.size)
    this.#chunks.push(chunk)
    return chunk
  }

  /** Its chunks no longer wait for others. */
  end(): void {
    this.#isEnded = true
  }

  /** Whether its chunks have their digests. */
  isHashed(): boolean {
    const isFull = !this.hasRoom && this.#chunks.every(({ isComplete }) => isComplete)
    if (!isFull && !this.#isEnded) return false
    if (isFull) this.#hashTogether()
    else for (const chunk of this.#chunks) if (chunk.isComplete) chunk.hashAlone()
    return true
  }

  #hashTogether(): void {
    const digests = this.#lanes.hash(
      this.#chunks.map(({ pieces }) => pieces),
      this.size,
    )
    for (const [at, chunk] of this.#chunks.entries()) chunk.settle(digests[at]!)
  }
}

class GroupedHash implements ChunkHash {
  readonly #group: ChunkGroup
  readonly #size: number
  #left: number
  pieces: Buffer[] = []
  #digest: string | undefined
  #isReleased = false

  constructor(group: ChunkGroup, size: number) {
    this.#group = group
    this.#size = size
    this.#left = size
  }

  get isComplete(): boolean {
    return this.#left === 0
  }

  update(data: Buffer): undefined {
    this.pieces.push(data)
    this.#left -= data.length
  }

  digest(): string | undefined {
    if (this.#digest === undefined && !this.#group.isHashed()) return undefined
    return this.#digest
  }

  settle(digest: string): void {
    this.#digest = digest
    this.abandon()
  }

  hashAlone(): void {
    if (this.#digest !== undefined) return
    const hash = createHash('sha256')
    for (const piece of this.pieces) hash.update(piece)
    this.settle(hash.digest('hex'))
  }

  abandon(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.pieces = []
    waitingBytes -= this.#size
  }
}
