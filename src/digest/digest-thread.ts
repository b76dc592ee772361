/**
 * A thread that computes digests of bytes in shared blocks: of those that lie in one already where they lie, of others
 * after they were copied. So much may lie ahead of it, so a body that comes faster than it is hashed waits. A thread
 * that fails fails every digest it had: none is ever made up, and none is waited for in vain.
 */
import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import { copyShared } from '../lib/bytes.ts'
import {
  type DigestAlgorithm,
  type DigestCommand,
  type DigestReply,
  digestWork,
  type ThreadData,
} from './digest-work.ts'
import { md5Batch } from './md5-batch.ts'
import { md5In } from './md5-in-memory.ts'
import { md5Lanes } from './md5-lanes.ts'
import { LANES } from './md5-module.ts'
import { BLOCK_BYTES, type SharedBlocks } from './shared-blocks.ts'
import type { SharedMemory } from './wasm.ts'

/** What a thread may have ahead of it. Bytes that were copied count as the whole block which they take. */
const AHEAD_BYTES_MAX = 8 * BLOCK_BYTES
/** What a MiB of MD5 costs compared to the others, of one body or of several together. */
const MD5_WEIGHT = 2

/** A thread, as far as it matters here. */
export interface ThreadPort {
  postMessage(order: DigestCommand): void
  on(event: 'message', listener: (reply: DigestReply) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
  ref(): void
  unref(): void
}

/**
 * As text, not as a file: it is found wherever this program is, in a folder, in a bundle or in a single executable. It
 * gets no environment, since secrets may stand there.
 */
export function startThread(memory: SharedMemory): ThreadPort {
  const given = [
    "threads: require('node:worker_threads'), crypto: require('node:crypto'), wasm: globalThis.WebAssembly",
    `md5Lanes: ${md5Lanes}, md5Company: ${md5Batch}`,
  ]
  const text = `(${digestWork})({ ${given} })`
  const workerData: ThreadData = { memory: memory.buffer, md5: md5In(memory, 'thread') }
  return new Worker(text, { eval: true, workerData, env: {}, execArgv: [] })
}

interface Waiting {
  readonly bytes: number
  readonly resolve: () => void
  readonly reject: (error: Error) => void
}

/** Bytes that a thread has still to hash. */
interface Ahead {
  readonly block: number
  /** As much as counts of them. */
  readonly bytes: number
}

export class DigestThread {
  readonly blocks: SharedBlocks
  readonly #port: ThreadPort
  readonly #ahead = new Map<number, Ahead>()
  #aheadBytes = 0
  /** For room, first come, first served: whoever has much to hash stands in line again for each block. */
  readonly #line: Waiting[] = []
  readonly #lanes = new Map<number, DigestStream>()
  #opened = 0
  #orders = 0
  #md5s = 0
  #others = 0
  failure: Error | undefined
  /** It has done something: if it fails now, another one may well succeed. */
  hasWorked = false

  constructor(
    start: (memory: SharedMemory) => ThreadPort,
    blocks: SharedBlocks,
    failed: (thread: DigestThread) => void,
  ) {
    this.blocks = blocks
    this.#port = start(blocks.memory)
    const fail = (why: unknown): void => {
      this.#fail(why)
      failed(this)
    }
    this.#port.on('message', reply => this.#take(reply))
    this.#port.on('error', fail)
    this.#port.on('exit', code => fail(`it ended with ${code}`))
    this.#port.unref()
  }

  /** What it has to do compared to others. Up to four MD5s count as one: they are computed together. */
  get load(): number {
    return MD5_WEIGHT * Math.ceil(this.#md5s / LANES) + this.#others
  }

  /** One more MD5 would be computed together with those that it has. */
  get hasCompany(): boolean {
    return this.#md5s % LANES > 0
  }

  open(algorithm: DigestAlgorithm): DigestStream {
    const lane = new DigestStream(this, ++this.#opened, algorithm)
    // Only work that somebody waits for keeps the process running.
    if (this.#lanes.size === 0) this.#port.ref()
    this.#lanes.set(lane.number, lane)
    this.#count(algorithm, 1)
    this.#port.postMessage({ lane: lane.number, start: algorithm })
    return lane
  }

  close(lane: DigestStream, end: 'digest' | 'nothing'): void {
    if (this.failure === undefined) this.#port.postMessage({ lane: lane.number, end })
    if (end === 'nothing') this.#forget(lane)
  }

  /** Room for so many bytes, at once if there is any. Whoever got it uses it or leaves it. */
  room(bytes: number): Promise<void> | undefined {
    if (this.#line.length === 0 && this.#aheadBytes < AHEAD_BYTES_MAX) {
      this.#aheadBytes += bytes
      return undefined
    }
    return new Promise((resolve, reject) => this.#line.push({ bytes, resolve, reject }))
  }

  leave(bytes: number): void {
    this.#aheadBytes -= bytes
    while (this.#line.length > 0 && this.#aheadBytes < AHEAD_BYTES_MAX) {
      const next = this.#line.shift()!
      this.#aheadBytes += next.bytes
      next.resolve()
    }
  }

  /** Hashes bytes of a block that the caller holds, and releases it. */
  hash({ number: lane }: DigestStream, bytes: Buffer, ahead: Ahead): void {
    // Its digests have failed, and who asks for one is told so.
    if (this.failure !== undefined) {
      this.blocks.release(ahead.block)
      return
    }
    const order = ++this.#orders
    this.#ahead.set(order, ahead)
    this.#port.postMessage({ lane, order, at: bytes.byteOffset, bytes: bytes.length })
  }

  #take(reply: DigestReply): void {
    this.hasWorked = true
    if ('order' in reply) {
      const done = this.#ahead.get(reply.order)
      if (done === undefined) return
      this.#ahead.delete(reply.order)
      this.blocks.release(done.block)
      this.leave(done.bytes)
      return
    }
    const lane = this.#lanes.get(reply.lane)
    if (lane === undefined) return
    this.#forget(lane)
    lane.answered(Buffer.from(reply.digest))
  }

  #forget(lane: DigestStream): void {
    if (!this.#lanes.delete(lane.number)) return
    this.#count(lane.algorithm, -1)
    if (this.#lanes.size === 0) this.#port.unref()
  }

  #count(algorithm: DigestAlgorithm, change: 1 | -1): void {
    if (algorithm === 'md5') this.#md5s += change
    else this.#others += change
  }

  #fail(why: unknown): void {
    if (this.failure !== undefined) return
    const failure = new Error(`a thread that computes digests failed: ${why instanceof Error ? why.message : why}`)
    this.failure = failure
    for (const { block } of this.#ahead.values()) this.blocks.release(block)
    this.#ahead.clear()
    for (const { reject } of this.#line.splice(0)) reject(failure)
    for (const lane of this.#lanes.values()) lane.failed(failure)
    this.#lanes.clear()
  }
}

/** What is left of some pieces. */
class Pieces {
  readonly #pieces: readonly Buffer[]
  #index = 0
  #from = 0

  constructor(pieces: readonly Buffer[]) {
    this.#pieces = pieces
  }

  get first(): Buffer | undefined {
    const piece = this.#pieces[this.#index]
    return this.#from === 0 ? piece : piece?.subarray(this.#from)
  }

  /** At most to the end of the first one. */
  skip(bytes: number): void {
    this.#from += bytes
    if (this.#from < this.#pieces[this.#index]!.length) return
    this.#index++
    this.#from = 0
  }

  /** Copies as many as there is room for, up to one that is none of these; returns how many bytes that were. */
  copy(into: Buffer, isOne: (piece: Buffer) => boolean): number {
    let used = 0
    for (let piece = this.first; piece !== undefined && isOne(piece); piece = this.first) {
      const taken = piece.subarray(0, into.length - used)
      copyShared(taken, into, used)
      used += taken.length
      this.skip(taken.length)
      if (used === into.length) break
    }
    return used
  }
}

/** One digest on its way through a thread. */
export class DigestStream {
  readonly number: number
  readonly algorithm: DigestAlgorithm
  readonly #thread: DigestThread
  #isTaking = false
  #isClosed = false
  #resolve: ((digest: Buffer) => void) | undefined
  #reject: ((error: Error) => void) | undefined

  constructor(thread: DigestThread, number: number, algorithm: DigestAlgorithm) {
    this.#thread = thread
    this.number = number
    this.algorithm = algorithm
  }

  /**
   * Shared blocks are held until their bytes are hashed; other bytes may be changed when this resolves. Only then may
   * more of them come.
   */
  async take(pieces: readonly Buffer[]): Promise<void> {
    assert(!this.#isTaking && !this.#isClosed, 'one after the other')
    this.#isTaking = true
    try {
      await this.#pass(pieces)
    } finally {
      this.#isTaking = false
    }
  }

  async #pass(pieces: readonly Buffer[]): Promise<void> {
    const thread = this.#thread
    const { blocks } = thread
    const left = new Pieces(pieces)
    for (let piece = left.first; piece !== undefined; piece = left.first) {
      if (thread.failure !== undefined) throw thread.failure
      const shared = blocks.blockOf(piece)
      const counted = shared === undefined ? BLOCK_BYTES : piece.length
      const waiting = thread.room(counted)
      if (waiting !== undefined) await waiting
      if (this.#isClosed) return thread.leave(counted)
      if (shared !== undefined) {
        blocks.hold(shared)
        left.skip(piece.length)
        thread.hash(this, piece, { block: shared, bytes: counted })
      } else {
        const block = blocks.take()
        const into = blocks.bytesOf(block)
        const used = left.copy(into, one => blocks.blockOf(one) === undefined)
        thread.hash(this, into.subarray(0, used), { block, bytes: counted })
      }
    }
  }

  digest(): Promise<Buffer> {
    assert(!this.#isTaking && !this.#isClosed, 'one after the other')
    this.#isClosed = true
    const { failure } = this.#thread
    if (failure !== undefined) return Promise.reject(failure)
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      this.#thread.close(this, 'digest')
    })
  }

  /** Nobody will ask for the digest. */
  abandon(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#thread.close(this, 'nothing')
  }

  answered(digest: Buffer): void {
    this.#resolve?.(digest)
  }

  failed(error: Error): void {
    this.#reject?.(error)
  }
}
