/**
 * Waits for asynchronous operations by polling: callbacks from the threads of librados are slower, and on Bun they keep
 * a core busy. Nothing is polled while no operation is in flight.
 */
import { systemClock } from '../../lib/clock.ts'
import { type Librados, type NativeFunction, type Pointer, radosError } from './librados.ts'

/** Most operations end within this time of the last one, and are polled in every turn of the event loop. */
const EAGER_MS = 0.5
/** Afterwards, once in this time. */
const PAUSE_MS = 1

interface PendingOperation {
  /** Never read: it keeps the memory that librados writes to from being collected. */
  readonly memory: unknown
  readonly completion: Pointer
  readonly what: string
  readonly resolve: (result: number) => void
  readonly reject: (error: Error) => void
}

export class Completions {
  readonly #librados: Librados
  #pending: PendingOperation[] = []
  #isScheduled = false
  #endPause: (() => void) | undefined
  #lastEventAt = 0
  /** Blocking calls on other threads. */
  readonly #calls = new Set<Promise<unknown>>()
  #whenDrained: (() => void) | undefined
  #isClosed = false

  constructor(librados: Librados) {
    this.#librados = librados
  }

  /** `submit` starts the operation, which may write to `memory`. Resolves to its result; rejects if it is an error. */
  run(what: string, submit: (completion: Pointer) => number, memory?: Buffer): Promise<number> {
    if (this.#isClosed) return Promise.reject(closed(what))
    const out: [Pointer] = [null]
    const failed: number = this.#librados.rados_aio_create_completion2(null, null, out)
    if (failed < 0) return Promise.reject(radosError(failed, what))
    const [completion] = out
    const refused = submit(completion)
    if (refused < 0) {
      this.#librados.rados_aio_release(completion)
      return Promise.reject(radosError(refused, what))
    }
    return new Promise((resolve, reject) => {
      this.#pending.push({ memory, completion, what, resolve, reject })
      this.#lastEventAt = systemClock.elapsed()
      this.#schedule()
    })
  }

  /** Nothing may be called through a connection that is closed. */
  assertOpen(what: string): void {
    if (this.#isClosed) throw closed(what)
  }

  /** Runs a blocking function on another thread. */
  async call<T>(what: string, blocking: NativeFunction, ...args: readonly unknown[]): Promise<T> {
    this.assertOpen(what)
    const running = new Promise<T>((resolve, reject) => {
      blocking.async(...args, (error: unknown, result: T) => (error ? reject(error) : resolve(result)))
    })
    this.#calls.add(running)
    try {
      return await running
    } finally {
      this.#calls.delete(running)
    }
  }

  /** Refuses new operations; resolves when none is in flight, so that the connection can be closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.allSettled(this.#calls)
    if (this.#pending.length === 0) return
    await new Promise<void>(resolve => {
      this.#whenDrained = resolve
    })
  }

  #schedule(): void {
    const isEager = systemClock.elapsed() - this.#lastEventAt < EAGER_MS
    // A new operation does not wait for a pause that an older, slow one has caused.
    if (this.#isScheduled && !(isEager && this.#endPause !== undefined)) return
    this.#endPause?.()
    this.#endPause = isEager ? undefined : systemClock.after(PAUSE_MS, this.#poll)
    if (isEager) setImmediate(this.#poll)
    this.#isScheduled = true
  }

  readonly #poll = (): void => {
    this.#isScheduled = false
    this.#endPause = undefined
    const pending = this.#pending
    this.#pending = pending.filter(operation => !this.#settle(operation))
    if (this.#pending.length < pending.length) this.#lastEventAt = systemClock.elapsed()
    if (this.#pending.length > 0) this.#schedule()
    else this.#whenDrained?.()
  }

  /** False while the operation is in flight. */
  #settle({ completion, what, resolve, reject }: PendingOperation): boolean {
    const librados = this.#librados
    if (librados.rados_aio_is_complete(completion) === 0) return false
    const result: number = librados.rados_aio_get_return_value(completion)
    librados.rados_aio_release(completion)
    if (result < 0) reject(radosError(result, what))
    else resolve(result)
    return true
  }
}

const closed = (what: string): Error => new Error(`RADOS: ${what}: the connection is closed`)
