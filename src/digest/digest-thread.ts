/**
 * A thread that computes digests. Bytes reach it in buffers that are transferred there and back, so a buffer belongs to
 * one side at a time and the language enforces it. The number of buffers bounds what may be queued for the thread.
 *
 * A thread that fails also fails every digest it had: the upload is refused, never acknowledged unverified.
 */
import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import { type DigestAlgorithm, type DigestCommand, type DigestReply, digestProgram } from './digest-program.ts'
import { md5Lanes } from './md5-lanes.ts'
import { md5Module } from './md5-module.ts'
import { md5Queue } from './md5-queue.ts'

/** Large enough that messages cost next to nothing, small enough to stay in a core's cache. */
export const BUFFER_BYTES = 256 * 1024
/** Eight MD5s that wait for each other have four each. */
const BUFFERS_MAX = 32
/** Up to four MD5s take about twice as long together as one other digest: by this, digests are spread over threads. */
const MD5_COST = 2
const MD5S_PER_COST = 4

/** The part of a `Worker` that is used here. */
export interface ThreadPort {
  postMessage(command: DigestCommand, transfer?: ArrayBuffer[]): void
  on(event: 'message', listener: (reply: DigestReply) => void): unknown
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'exit', listener: (code: number) => void): unknown
  ref(): void
  unref(): void
}

/**
 * The program is passed as text, so it is found in a source tree, in a bundle and in a single executable alike. The
 * environment stays empty because it may hold secrets.
 */
export function startThread(): ThreadPort {
  const modules = ['worker_threads', 'crypto', 'timers'].map(name => `require('node:${name}')`)
  const [threads, crypto, timers] = modules
  const given = `threads: ${threads}, crypto: ${crypto}, timers: ${timers}, wasm: globalThis.WebAssembly`
  const text = `(${digestProgram})({ ${given}, md5Lanes: ${md5Lanes}, md5Queue: ${md5Queue} })`
  return new Worker(text, { eval: true, env: {}, execArgv: [], workerData: md5Module() })
}

interface Waiter {
  readonly resolve: (buffer: ArrayBuffer) => void
  readonly reject: (error: Error) => void
}

export class DigestThread {
  failure: Error | undefined
  /** A thread that never replied cannot be started here; one that did may be replaced. */
  hasAnswered = false
  readonly #port: ThreadPort
  readonly #idle: ArrayBuffer[] = []
  #allocated = 0
  readonly #waiters: Waiter[] = []
  readonly #streams = new Map<number, DigestStream>()
  #lastId = 0
  #md5s = 0

  constructor(start: () => ThreadPort, onFailure: (thread: DigestThread) => void) {
    this.#port = start()
    const fail = (reason: unknown): void => {
      this.#fail(reason)
      onFailure(this)
    }
    this.#port.on('message', reply => this.#receive(reply))
    this.#port.on('error', fail)
    this.#port.on('exit', code => fail(`it exited with code ${code}`))
    this.#port.unref()
  }

  /** The cost of all open digests. */
  get load(): number {
    return MD5_COST * Math.ceil(this.#md5s / MD5S_PER_COST) + this.#streams.size - this.#md5s
  }

  get hasMd5s(): boolean {
    return this.#md5s > 0
  }

  open(algorithm: DigestAlgorithm): DigestStream {
    const stream = new DigestStream(this, ++this.#lastId, algorithm)
    // Only open digests keep the process running.
    if (this.#streams.size === 0) this.#port.ref()
    this.#streams.set(stream.id, stream)
    if (algorithm === 'md5') this.#md5s++
    return stream
  }

  /** A buffer to fill. It goes to `hash` or `release` without waiting for a client: there are only a few. */
  acquire(): ArrayBuffer | Promise<ArrayBuffer> {
    if (this.failure !== undefined) throw this.failure
    const idle = this.#idle.pop()
    if (idle !== undefined) return idle
    if (this.#allocated < BUFFERS_MAX) {
      this.#allocated++
      return new ArrayBuffer(BUFFER_BYTES)
    }
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }))
  }

  release(buffer: ArrayBuffer): void {
    const waiter = this.#waiters.shift()
    if (waiter === undefined) this.#idle.push(buffer)
    else waiter.resolve(buffer)
  }

  hash({ id, algorithm }: DigestStream, buffer: ArrayBuffer, bytes: number, isLast: boolean): void {
    if (this.failure !== undefined) throw this.failure
    this.#port.postMessage({ id, algorithm, buffer, bytes, isLast }, [buffer])
  }

  drop(stream: DigestStream): void {
    if (this.failure === undefined) this.#port.postMessage({ drop: stream.id })
    this.#close(stream)
  }

  #receive({ buffer, ended }: DigestReply): void {
    this.hasAnswered = true
    this.release(buffer)
    const stream = ended && this.#streams.get(ended.id)
    if (stream === undefined) return
    this.#close(stream)
    stream.resolve(Buffer.from(ended!.digest.buffer))
  }

  #close(stream: DigestStream): void {
    if (!this.#streams.delete(stream.id)) return
    if (stream.algorithm === 'md5') this.#md5s--
    if (this.#streams.size === 0) this.#port.unref()
  }

  #fail(reason: unknown): void {
    if (this.failure !== undefined) return
    const failure = new Error(`a digest thread failed: ${reason instanceof Error ? reason.message : reason}`)
    this.failure = failure
    for (const { reject } of this.#waiters.splice(0)) reject(failure)
    for (const stream of this.#streams.values()) stream.reject(failure)
    this.#streams.clear()
  }
}

/** One digest that a thread computes. */
export class DigestStream {
  readonly id: number
  readonly algorithm: DigestAlgorithm
  readonly #thread: DigestThread
  #isWriting = false
  #isEnded = false
  resolve: (digest: Buffer) => void = () => {}
  reject: (error: Error) => void = () => {}

  constructor(thread: DigestThread, id: number, algorithm: DigestAlgorithm) {
    this.#thread = thread
    this.id = id
    this.algorithm = algorithm
  }

  /** Takes whole buffers. Resolves when every byte has been copied; only then may the next call follow. */
  async write(chunks: readonly Buffer[]): Promise<void> {
    assert(!this.#isWriting && !this.#isEnded, 'calls must not overlap')
    this.#isWriting = true
    try {
      const from = new ChunkCursor(chunks)
      while (!from.isAtEnd) {
        const acquired = this.#thread.acquire()
        const buffer = acquired instanceof Promise ? await acquired : acquired
        if (this.#isEnded) return this.#thread.release(buffer)
        const bytes = from.copyTo(new Uint8Array(buffer))
        assert(bytes === BUFFER_BYTES, 'only the last buffer may be partly empty')
        this.#thread.hash(this, buffer, bytes, false)
      }
    } finally {
      this.#isWriting = false
    }
  }

  /** Takes the rest of the body, at least one byte and at most a buffer. */
  async digest(chunks: readonly Buffer[]): Promise<Buffer> {
    assert(!this.#isWriting && !this.#isEnded, 'calls must not overlap')
    this.#isEnded = true
    const buffer = await this.#thread.acquire()
    const from = new ChunkCursor(chunks)
    const bytes = from.copyTo(new Uint8Array(buffer))
    assert(from.isAtEnd, 'the rest of a body fits a buffer')
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.#thread.hash(this, buffer, bytes, true)
    })
  }

  /** Drops a digest that is no longer needed. */
  abandon(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#thread.drop(this)
  }
}

/** Copies chunks one after the other into buffers of another size. */
class ChunkCursor {
  readonly #chunks: readonly Buffer[]
  #index = 0
  #offset = 0

  constructor(chunks: readonly Buffer[]) {
    this.#chunks = chunks
  }

  get isAtEnd(): boolean {
    return this.#index === this.#chunks.length
  }

  /** Fills the target as far as there are bytes, and returns how many that were. */
  copyTo(target: Uint8Array): number {
    let filled = 0
    while (!this.isAtEnd && filled < target.length) {
      const chunk = this.#chunks[this.#index]!
      const end = Math.min(chunk.length, this.#offset + target.length - filled)
      target.set(chunk.subarray(this.#offset, end), filled)
      filled += end - this.#offset
      this.#offset = end
      if (end < chunk.length) continue
      this.#index++
      this.#offset = 0
    }
    return filled
  }
}
