/**
 * A thread that computes digests. Bytes reach it in buffers that are transferred there and back, so a buffer belongs to
 * one side at a time and the language enforces it. The number of buffers bounds what may be queued for the thread.
 *
 * A thread that fails also fails every digest it had: the upload is refused, never acknowledged unverified.
 */
import assert from 'node:assert/strict'
import { Worker } from 'node:worker_threads'
import { type DigestAlgorithm, type DigestCommand, type DigestReply, digestProgram } from './digest-program.ts'

/** Large enough that messages cost next to nothing, small enough to stay in a core's cache. */
export const BUFFER_BYTES = 256 * 1024
const BUFFERS_MAX = 8
/** CPU time per byte relative to each other, to spread digests over the threads. */
const COST: Readonly<Record<DigestAlgorithm, number>> = { md5: 2, sha1: 1, sha256: 1 }

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
  const modules = "{ threads: require('node:worker_threads'), crypto: require('node:crypto') }"
  return new Worker(`(${digestProgram})(${modules})`, { eval: true, env: {}, execArgv: [] })
}

interface Waiter {
  readonly resolve: (buffer: ArrayBuffer) => void
  readonly reject: (error: Error) => void
}

export class DigestThread {
  failure: Error | undefined
  /** A thread that never replied cannot be started here; one that did may be replaced. */
  hasAnswered = false
  /** The cost of all open digests. */
  load = 0
  readonly #port: ThreadPort
  readonly #idle: ArrayBuffer[] = []
  #allocated = 0
  readonly #waiters: Waiter[] = []
  readonly #streams = new Map<number, DigestStream>()
  #lastId = 0

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

  open(algorithm: DigestAlgorithm): DigestStream {
    const stream = new DigestStream(this, ++this.#lastId, algorithm)
    // Only open digests keep the process running.
    if (this.#streams.size === 0) this.#port.ref()
    this.#streams.set(stream.id, stream)
    this.load += COST[algorithm]
    this.#port.postMessage({ id: stream.id, start: algorithm })
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

  hash(stream: DigestStream, buffer: ArrayBuffer, bytes: number): void {
    if (this.failure !== undefined) throw this.failure
    this.#port.postMessage({ id: stream.id, buffer, bytes }, [buffer])
  }

  end(stream: DigestStream, end: 'digest' | 'drop'): void {
    if (this.failure === undefined) this.#port.postMessage({ id: stream.id, end })
    if (end === 'drop') this.#close(stream)
  }

  #receive(reply: DigestReply): void {
    this.hasAnswered = true
    if ('buffer' in reply) {
      this.release(reply.buffer)
      return
    }
    const stream = this.#streams.get(reply.id)
    if (stream === undefined) return
    this.#close(stream)
    stream.resolve(Buffer.from(reply.digest.buffer))
  }

  #close(stream: DigestStream): void {
    if (!this.#streams.delete(stream.id)) return
    this.load -= COST[stream.algorithm]
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

  /** Resolves when every byte has been copied; only then may the next call follow. */
  async write(chunks: readonly Buffer[]): Promise<void> {
    assert(!this.#isWriting && !this.#isEnded, 'calls must not overlap')
    this.#isWriting = true
    try {
      await this.#write(chunks)
    } finally {
      this.#isWriting = false
    }
  }

  async #write(chunks: readonly Buffer[]): Promise<void> {
    const thread = this.#thread
    let index = 0
    let offset = 0
    while (index < chunks.length) {
      const acquired = thread.acquire()
      const buffer = acquired instanceof Promise ? await acquired : acquired
      if (this.#isEnded) return thread.release(buffer)
      const target = new Uint8Array(buffer)
      let filled = 0
      while (index < chunks.length && filled < BUFFER_BYTES) {
        const chunk = chunks[index]!
        const end = Math.min(chunk.length, offset + BUFFER_BYTES - filled)
        target.set(chunk.subarray(offset, end), filled)
        filled += end - offset
        offset = end
        if (offset < chunk.length) continue
        index++
        offset = 0
      }
      thread.hash(this, buffer, filled)
    }
  }

  digest(): Promise<Buffer> {
    assert(!this.#isWriting && !this.#isEnded, 'calls must not overlap')
    this.#isEnded = true
    const { failure } = this.#thread
    if (failure !== undefined) return Promise.reject(failure)
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.#thread.end(this, 'digest')
    })
  }

  /** Drops a digest that is no longer needed. */
  abandon(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#thread.end(this, 'drop')
  }
}
