/**
 * MD5s of short bodies. Those that are asked for at the same time, as they are by all bodies whose bytes were synced
 * together, are computed together: four cost little more than one. It is done at once and on the spot, since a thread
 * would take longer to be told of so few bytes.
 */
import { copyShared } from '../lib/bytes.ts'
import { md5In } from './md5-in-memory.ts'
import { type Md5Bytes, type Md5Lanes, md5Lanes } from './md5-lanes.ts'
import { LANES, type Md5Exports } from './md5-module.ts'
import { oneShotHash } from './one-shot-hash.ts'
import { BLOCK_BYTES, type SharedBlocks } from './shared-blocks.ts'
import { wasm } from './wasm.ts'

interface Waiting {
  readonly pieces: readonly Buffer[]
  readonly bytes: number
  readonly resolve: (digest: Buffer) => void
  readonly reject: (error: unknown) => void
}

/** Undefined where there is no such module. */
function lanesIn(blocks: SharedBlocks): Md5Lanes | undefined {
  const md5 = md5In(blocks.memory, 'loop')
  if (md5 === undefined) return undefined
  const { exports } = new wasm!.Instance(md5.module, { outside: { memory: md5.memory } })
  return md5Lanes(exports as Md5Exports, new Uint8Array(blocks.memory.buffer), md5.area)
}

export class Md5Batcher {
  readonly #blocks: SharedBlocks
  readonly #start: (blocks: SharedBlocks) => Md5Lanes | undefined
  #lanes: Md5Lanes | undefined
  #isStarted = false
  #waiting: Waiting[] = []

  constructor(blocks: SharedBlocks, start = lanesIn) {
    this.#blocks = blocks
    this.#start = start
  }

  /** Of bytes that stay as they are until then, less than a block of them. */
  digest(pieces: readonly Buffer[], bytes: number): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      // Whoever asks at the same time does so before this comes to its turn.
      if (this.#waiting.push({ pieces, bytes, resolve, reject }) === 1) queueMicrotask(() => this.#compute())
    })
  }

  #compute(): void {
    const waiting = this.#waiting
    this.#waiting = []
    // Those of a size go together: what is left of the longest is computed alone.
    if (waiting.length > LANES) waiting.sort((one, other) => other.bytes - one.bytes)
    for (let at = 0; at < waiting.length; at += LANES) {
      const group = waiting.slice(at, at + LANES)
      try {
        const digests = this.#digestsOf(group)
        for (const [index, { resolve }] of group.entries()) resolve(digests[index]!)
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
  }

  #digestsOf(group: readonly Waiting[]): Buffer[] {
    const lanes = group.length > 1 && this.#blocks.freeCount >= group.length ? this.#lanesAtHand() : undefined
    if (lanes === undefined) return group.map(alone)
    const taken = group.map(() => this.#blocks.take())
    try {
      const each = group.map(({ pieces, bytes }, index): Md5Bytes => {
        this.#copy(pieces, taken[index]!)
        return { md5: lanes.start(), at: taken[index]! * BLOCK_BYTES, bytes }
      })
      lanes.update(each)
      return each.map(({ md5 }) => Buffer.from(lanes.digest(md5)))
    } finally {
      for (const block of taken) this.#blocks.release(block)
    }
  }

  #copy(pieces: readonly Buffer[], block: number): void {
    const into = this.#blocks.bytesOf(block)
    let used = 0
    for (const piece of pieces) {
      copyShared(piece, into, used)
      used += piece.length
    }
  }

  #lanesAtHand(): Md5Lanes | undefined {
    if (!this.#isStarted) this.#lanes = this.#start(this.#blocks)
    this.#isStarted = true
    return this.#lanes
  }
}

const alone = ({ pieces }: Waiting): Buffer =>
  oneShotHash('md5', pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces), 'buffer')
