/**
 * Blocks of memory that the digest threads see as well. A large body is copied into them once, as it comes, and hashed,
 * checked and written from there. A block is used again when nobody holds it any more.
 *
 * A body holds a block until each of its bytes was given back by whoever was the last to look at it, or at the latest
 * until its loan ends; a thread holds what it has still to hash. There are so many blocks and no more: a body that gets
 * none passes its bytes on as they came.
 */
import assert from 'node:assert/strict'
import { copyShared, EMPTY } from '../lib/bytes.ts'
import { PAGE_BYTES, type SharedMemory, sharedMemory } from './wasm.ts'

/** Large enough that messages cost next to nothing, small enough that a thread's blocks stay in its cache. */
export const BLOCK_BYTES = 256 * 1024
/** What was never used takes no memory. */
const BLOCKS = 256
/** Kept for bytes that lie elsewhere and are copied for a thread: those never wait for a client. */
const RESERVED = 16

export class SharedBlocks {
  #memory: SharedMemory | undefined
  /** The last one is taken first: few are ever used unless there are many bodies at once. */
  readonly #free = Array.from({ length: BLOCKS }, (_, n) => BLOCKS - 1 - n)
  readonly #holds = new Uint16Array(BLOCKS)
  /** Of a block that is lent: bytes that its body may still look at. */
  readonly #left = new Uint32Array(BLOCKS)
  /** And all blocks that this body has on loan. */
  readonly #loans: (Set<number> | undefined)[] = []

  /** All of them, and then a page for the threads themselves. */
  get memory(): SharedMemory {
    this.#memory ??= sharedMemory((BLOCKS * BLOCK_BYTES) / PAGE_BYTES + 1)
    return this.#memory
  }

  /** Blocks that nobody holds. */
  get freeCount(): number {
    return this.#free.length
  }

  /** A block, held once. */
  take(): number {
    const block = this.#free.pop()
    assert(block !== undefined, 'there is no block left')
    this.#holds[block] = 1
    return block
  }

  /** The same for a body, if there is one to spare. */
  spare(): number | undefined {
    return this.#free.length > RESERVED ? this.take() : undefined
  }

  bytesOf(block: number): Buffer {
    return Buffer.from(this.memory.buffer, block * BLOCK_BYTES, BLOCK_BYTES)
  }

  /** The block that these bytes lie in, if they lie in one. */
  blockOf(bytes: Buffer): number | undefined {
    return bytes.buffer === this.#memory?.buffer ? Math.floor(bytes.byteOffset / BLOCK_BYTES) : undefined
  }

  hold(block: number): void {
    assert(this.#holds[block]! > 0, 'nobody may hold what is free')
    this.#holds[block]!++
  }

  release(block: number): void {
    assert(this.#holds[block]! > 0, 'a block is free already')
    if (--this.#holds[block]! === 0) this.#free.push(block)
  }

  /** So many bytes more of a block are about to be looked at. Whoever is the last to look at some gives them back. */
  lend(block: number, bytes: number, loans: Set<number>): void {
    if (this.#left[block] === 0) {
      this.hold(block)
      this.#loans[block] = loans.add(block)
    }
    this.#left[block]! += bytes
  }

  /** Ends a loan, whether or not all of its bytes were given back. */
  endLoan(block: number): void {
    this.#left[block] = 0
    this.#loans[block]!.delete(block)
    this.#loans[block] = undefined
    this.release(block)
  }

  /**
   * Nobody will look at these bytes again, or at so many of them. To be said once of each; of bytes that are not lent
   * here it says nothing.
   */
  giveBack(piece: Buffer, bytes = piece.length): void {
    const block = this.blockOf(piece)
    if (block === undefined || bytes === 0) return
    assert(bytes <= this.#left[block]!, 'more was given back than was lent')
    this.#left[block]! -= bytes
    if (this.#left[block] === 0) this.endLoan(block)
  }
}

/** The blocks of one body: filled one after the other, and handed over when they are full, or as far as they are. */
export class BodyBlocks {
  readonly #blocks: SharedBlocks
  readonly #loans = new Set<number>()
  #block: number | undefined
  #into: Buffer = EMPTY
  /** Of the block that is being filled, [#from, #used) has not been handed over. */
  #from = 0
  #used = 0

  constructor(blocks: SharedBlocks) {
    this.#blocks = blocks
  }

  /** There is nothing to hand over. */
  get isEmpty(): boolean {
    return this.#used === this.#from
  }

  get isFull(): boolean {
    return this.#used === BLOCK_BYTES
  }

  /** Copies what there is room for; returns how many bytes that were. Where there is no block, none. */
  fill(chunk: Buffer): number {
    if (this.#block === undefined) {
      const block = this.#blocks.spare()
      if (block === undefined) return 0
      this.#block = block
      this.#into = this.#blocks.bytesOf(block)
    }
    const bytes = Math.min(chunk.length, BLOCK_BYTES - this.#used)
    copyShared(bytes === chunk.length ? chunk : chunk.subarray(0, bytes), this.#into, this.#used)
    this.#used += bytes
    return bytes
  }

  /** What has been filled since the last time, on loan. */
  take(): Buffer {
    const bytes = this.#into.subarray(this.#from, this.#used)
    this.#blocks.lend(this.#block!, bytes.length, this.#loans)
    this.#from = this.#used
    if (this.isFull) this.#leave()
    return bytes
  }

  /** Nobody looks at any of its bytes any more. */
  end(): void {
    for (const block of this.#loans) this.#blocks.endLoan(block)
    this.#leave()
  }

  #leave(): void {
    if (this.#block === undefined) return
    this.#blocks.release(this.#block)
    this.#block = undefined
    this.#into = EMPTY
    this.#from = 0
    this.#used = 0
  }
}
