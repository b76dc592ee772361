import { type DigestStream, DigestThread, startThread, type ThreadPort } from './digest-thread.ts'
import type { DigestAlgorithm } from './digest-work.ts'
import { Md5Batcher } from './md5-batcher.ts'
import { SharedBlocks } from './shared-blocks.ts'
import type { SharedMemory } from './wasm.ts'

/** One for the tag, one for what was signed: a single large body is hashed both ways at the same time. */
const THREADS_MAX = 2

/**
 * Computes digests beside the event loop: MD5 takes two milliseconds for each MiB, and nobody else would be served
 * meanwhile. Threads are started when they are first needed.
 */
export class DigestThreads {
  readonly blocks: SharedBlocks
  /** For bodies that are too short to be told to a thread. */
  readonly together: Md5Batcher
  readonly #start: (memory: SharedMemory) => ThreadPort
  readonly #threads: DigestThread[] = []
  #isPossible = true

  constructor(start: (memory: SharedMemory) => ThreadPort = startThread, blocks = new SharedBlocks()) {
    this.#start = start
    this.blocks = blocks
    this.together = new Md5Batcher(blocks)
  }

  /** Undefined where no thread can be had: whoever asks has to do the work. */
  open(algorithm: DigestAlgorithm): DigestStream | undefined {
    const company = algorithm === 'md5' ? this.#threads.find(({ hasCompany }) => hasCompany) : undefined
    if (company !== undefined) return company.open(algorithm)
    const idlest = this.#threads.reduce<DigestThread | undefined>(
      (best, thread) => (best === undefined || thread.load < best.load ? thread : best),
      undefined,
    )
    const isEnough = idlest !== undefined && (idlest.load === 0 || this.#threads.length === THREADS_MAX)
    return (isEnough ? idlest : (this.#another() ?? idlest))?.open(algorithm)
  }

  #another(): DigestThread | undefined {
    if (!this.#isPossible) return undefined
    try {
      const thread = new DigestThread(this.#start, this.blocks, failed => this.#lost(failed))
      this.#threads.push(thread)
      return thread
    } catch {
      this.#isPossible = false
      return undefined
    }
  }

  #lost(thread: DigestThread): void {
    const at = this.#threads.indexOf(thread)
    if (at >= 0) this.#threads.splice(at, 1)
    if (!thread.hasWorked) this.#isPossible = false
  }
}

/** Of this process, however many stores it has. */
export const digestThreads = new DigestThreads()

/** Where large bodies are put, so that nobody has to copy them for the threads. */
export const sharedBlocks = digestThreads.blocks
