/**
 * A thread that computes digests. Bytes are copied into memory that is shared with it, in blocks that it gives back, so
 * a body that comes faster than it is hashed waits for a block. A thread that fails fails every digest it had: none is
 * ever made up, and none is waited for in vain.
 */
import assert from 'node:assert/strict'
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type threads from 'node:worker_threads'
import { Worker } from 'node:worker_threads'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** Large enough that messages cost next to nothing, small enough that a thread's blocks stay in its cache. */
export const BLOCK_BYTES = 256 * 1024
const BLOCKS = 8
/** What a MiB costs compared to the others: threads are to have the same share of the work. */
const WEIGHT: Readonly<Record<DigestAlgorithm, number>> = { md5: 2, sha1: 1, sha256: 1 }

/** What a thread is told about one of its digests. */
export type Order =
  | { readonly lane: number; readonly start: DigestAlgorithm }
  | { readonly lane: number; readonly block: number; readonly bytes: number }
  | { readonly lane: number; readonly end: 'digest' | 'nothing' }

/** What it answers. */
export type Reply = { readonly block: number } | { readonly lane: number; readonly digest: Uint8Array }

/** A thread, as far as it matters here. */
export interface Port {
  postMessage(order: Order): void
  on(event: 'message', listener: (reply: Reply) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
  ref(): void
  unref(): void
}

/** Runs inside the thread, where it arrives as text: it may use nothing but what it is given. */
function work({ parentPort, workerData }: typeof threads, { createHash }: typeof crypto): void {
  const { memory, blockBytes } = workerData as { memory: SharedArrayBuffer; blockBytes: number }
  const hashes = new Map<number, Hash>()
  parentPort!.on('message', (order: Order) => {
    const hash = hashes.get(order.lane)
    if ('start' in order) {
      hashes.set(order.lane, createHash(order.start))
    } else if ('block' in order) {
      hash?.update(new Uint8Array(memory, order.block * blockBytes, order.bytes))
      parentPort!.postMessage({ block: order.block })
    } else {
      hashes.delete(order.lane)
      if (order.end === 'digest') parentPort!.postMessage({ lane: order.lane, digest: hash!.digest() })
    }
  })
}

/**
 * As text, not as a file: it is found wherever this program is, in a folder, in a bundle or in a single executable. It
 * gets no environment, since secrets may stand there.
 */
export function startThread(memory: SharedArrayBuffer): Port {
  const text = `(${work})(require('node:worker_threads'), require('node:crypto'))`
  return new Worker(text, { eval: true, workerData: { memory, blockBytes: BLOCK_BYTES }, env: {}, execArgv: [] })
}

interface Waiting {
  readonly resolve: (block: number) => void
  readonly reject: (error: Error) => void
}

export class DigestThread {
  readonly #port: Port
  readonly #memory: Uint8Array
  readonly #free: number[] = Array.from({ length: BLOCKS }, (_, block) => block)
  /** For a block, first come, first served: whoever wants several stands in line again for each. */
  readonly #line: Waiting[] = []
  readonly #lanes = new Map<number, Lane>()
  #count = 0
  load = 0
  failure: Error | undefined
  /** It has done something: if it fails now, another one may well succeed. */
  hasWorked = false

  constructor(start: (memory: SharedArrayBuffer) => Port, failed: (thread: DigestThread) => void) {
    const memory = new SharedArrayBuffer(BLOCKS * BLOCK_BYTES)
    this.#memory = new Uint8Array(memory)
    this.#port = start(memory)
    const fail = (why: unknown): void => {
      this.#fail(why)
      failed(this)
    }
    this.#port.on('message', reply => this.#take(reply))
    this.#port.on('error', fail)
    this.#port.on('exit', code => fail(`it ended with ${code}`))
    this.#port.unref()
  }

  open(algorithm: DigestAlgorithm): Lane {
    const lane = new Lane(this, ++this.#count, algorithm)
    // Only work that somebody waits for keeps the process running.
    if (this.#lanes.size === 0) this.#port.ref()
    this.#lanes.set(lane.number, lane)
    this.load += WEIGHT[algorithm]
    this.#port.postMessage({ lane: lane.number, start: algorithm })
    return lane
  }

  close(lane: Lane, end: 'digest' | 'nothing'): void {
    if (this.failure === undefined) this.#port.postMessage({ lane: lane.number, end })
    if (end === 'nothing') this.#forget(lane)
  }

  /** A block to fill, at once if there is one. */
  block(): number | Promise<number> {
    const block = this.#line.length === 0 ? this.#free.pop() : undefined
    return block ?? new Promise((resolve, reject) => this.#line.push({ resolve, reject }))
  }

  bytesOf(block: number): Uint8Array {
    return this.#memory.subarray(block * BLOCK_BYTES, (block + 1) * BLOCK_BYTES)
  }

  unused(block: number): void {
    const next = this.#line.shift()
    if (next === undefined) this.#free.push(block)
    else next.resolve(block)
  }

  hash({ number: lane }: Lane, block: number, bytes: number): void {
    this.#port.postMessage({ lane, block, bytes })
  }

  #take(reply: Reply): void {
    this.hasWorked = true
    if ('block' in reply) {
      this.unused(reply.block)
      return
    }
    const lane = this.#lanes.get(reply.lane)
    if (lane === undefined) return
    this.#forget(lane)
    lane.answered(Buffer.from(reply.digest))
  }

  #forget(lane: Lane): void {
    if (!this.#lanes.delete(lane.number)) return
    this.load -= WEIGHT[lane.algorithm]
    if (this.#lanes.size === 0) this.#port.unref()
  }

  #fail(why: unknown): void {
    if (this.failure !== undefined) return
    const failure = new Error(`a thread that computes digests failed: ${why instanceof Error ? why.message : why}`)
    this.failure = failure
    for (const { reject } of this.#line.splice(0)) reject(failure)
    for (const lane of this.#lanes.values()) lane.failed(failure)
    this.#lanes.clear()
  }
}

/** One digest on its way through a thread. */
export class Lane {
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

  /** Copies the bytes; resolves when the caller may change them, and only then may more of them come. */
  async take(pieces: readonly Buffer[]): Promise<void> {
    assert(!this.#isTaking && !this.#isClosed, 'one after the other')
    this.#isTaking = true
    try {
      await this.#copy(pieces)
    } finally {
      this.#isTaking = false
    }
  }

  async #copy(pieces: readonly Buffer[]): Promise<void> {
    const thread = this.#thread
    for (let index = 0, from = 0; index < pieces.length; ) {
      if (thread.failure !== undefined) throw thread.failure
      const found = thread.block()
      const block = typeof found === 'number' ? found : await found
      if (this.#isClosed) return thread.unused(block)
      const into = thread.bytesOf(block)
      let used = 0
      while (index < pieces.length && used < into.length) {
        const piece = pieces[index]!
        const take = Math.min(into.length - used, piece.length - from)
        into.set(piece.subarray(from, from + take), used)
        used += take
        from += take
        if (from < piece.length) continue
        index++
        from = 0
      }
      thread.hash(this, block, used)
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
