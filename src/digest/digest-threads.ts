import type { DigestAlgorithm } from './digest-program.ts'
import { type DigestStream, DigestThread, startThread, type ThreadPort } from './digest-thread.ts'

/** MD5 for the entity tag and SHA-256 for the signature: one body's two digests run side by side. */
const THREADS_MAX = 2

/** Computes digests beside the event loop, in threads that are started on demand. */
export class DigestThreads {
  readonly #start: () => ThreadPort
  readonly #threads: DigestThread[] = []
  #canStart = true

  constructor(start: () => ThreadPort = startThread) {
    this.#start = start
  }

  /** Undefined where no thread can be started: then the caller hashes on the event loop. */
  open(algorithm: DigestAlgorithm): DigestStream | undefined {
    // All MD5s on one thread: the more it has, the more of them it computes together.
    const shared = algorithm === 'md5' ? this.#threads.find(({ hasMd5s }) => hasMd5s) : undefined
    if (shared !== undefined) return shared.open(algorithm)
    const [idlest] = this.#threads.toSorted((a, b) => a.load - b.load)
    const isEnough = idlest !== undefined && (idlest.load === 0 || this.#threads.length === THREADS_MAX)
    return (isEnough ? idlest : (this.#startAnother() ?? idlest))?.open(algorithm)
  }

  #startAnother(): DigestThread | undefined {
    if (!this.#canStart) return undefined
    try {
      const thread = new DigestThread(this.#start, failed => this.#remove(failed))
      this.#threads.push(thread)
      return thread
    } catch {
      this.#canStart = false
      return undefined
    }
  }

  #remove(thread: DigestThread): void {
    const at = this.#threads.indexOf(thread)
    if (at >= 0) this.#threads.splice(at, 1)
    if (!thread.hasAnswered) this.#canStart = false
  }
}

/** Shared by every store of this process: the threads stand for its spare cores. */
export const digestThreads = new DigestThreads()
