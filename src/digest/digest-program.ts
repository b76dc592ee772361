/** The program of a digest thread. It is sent there as text, so it may use nothing but its parameters. */
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type timers from 'node:timers'
import type threads from 'node:worker_threads'
import type { Md5, md5Lanes } from './md5-lanes.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** The next bytes of a digest: the first `bytes` of a buffer, which only the last one leaves partly empty. */
interface DigestBytes {
  readonly id: number
  readonly algorithm: DigestAlgorithm
  readonly buffer: ArrayBuffer
  readonly bytes: number
  readonly isLast: boolean
}

export type DigestCommand = DigestBytes | { readonly drop: number }

/** A buffer that has been hashed comes back to be filled again, the last one of a digest with the result. */
export interface DigestReply {
  readonly buffer: ArrayBuffer
  readonly ended?: { readonly id: number; readonly digest: Uint8Array<ArrayBuffer> }
}

/** By id, those that have waited longest first. */
type Md5Queues = Map<number, { readonly md5: Md5; readonly queue: DigestBytes[] }>

interface Modules {
  readonly threads: Pick<typeof threads, 'parentPort' | 'workerData'>
  readonly crypto: Pick<typeof crypto, 'createHash'>
  readonly timers: Pick<typeof timers, 'setTimeout' | 'clearTimeout'>
  readonly wasm: WasmRuntime | undefined
  readonly md5Lanes: typeof md5Lanes
}

/** `workerData` is the module for `md5Lanes`. */
export function digestProgram({ threads, crypto, timers, wasm, md5Lanes }: Modules): void {
  const port = threads.parentPort!
  const lanes = md5Lanes(wasm, threads.workerData as Uint8Array)
  const hashes = new Map<number, Hash>()
  const md5s: Md5Queues = new Map()
  const MD5_LANES = 8
  /** There are more buffers than this, so that there are always some to be filled. */
  const QUEUED_MAX = 12
  /** For this long, MD5s wait for one whose client is slow. */
  const WAIT_MS = 2
  let isScheduled = false
  let waiting: NodeJS.Timeout | undefined
  const program = {
    receive(command: DigestCommand): void {
      if ('drop' in command) program.drop(command.drop)
      else if (command.algorithm === 'md5' && lanes !== undefined) program.enqueue(command)
      else program.hash(command)
    },

    hash(command: DigestBytes): void {
      const { id, algorithm, buffer, bytes, isLast } = command
      const hash = hashes.get(id) ?? crypto.createHash(algorithm)
      hash.update(new Uint8Array(buffer, 0, bytes))
      if (isLast) hashes.delete(id)
      else hashes.set(id, hash)
      program.reply(command, isLast ? hash.digest() : undefined)
    },

    enqueue(command: DigestBytes): void {
      const { md5, queue } = md5s.get(command.id) ?? { md5: lanes!.start(), queue: [] }
      md5s.set(command.id, { md5, queue: [...queue, command] })
      program.schedule()
    },

    /** Waits until all messages that have arrived are received. */
    schedule(): void {
      if (isScheduled) return
      const queued = [...md5s.values()].map(({ queue }) => queue.length).filter(length => length > 0)
      if (program.isTime(queued)) {
        isScheduled = true
        setImmediate(program.computeMd5s)
      } else if (queued.length > 0) waiting ??= timers.setTimeout(program.computeMd5s, WAIT_MS)
    },

    /** MD5s that have buffers wait for the others to have some too, since they take little longer together. */
    isTime(queued: readonly number[]): boolean {
      if (queued.length >= Math.max(1, Math.min(MD5_LANES, md5s.size))) return true
      return queued.reduce((sum, length) => sum + length, 0) >= QUEUED_MAX
    },

    computeMd5s(): void {
      isScheduled = false
      timers.clearTimeout(waiting)
      waiting = undefined
      const group = [...md5s].filter(([, { queue }]) => queue.length > 0).slice(0, MD5_LANES)
      const next = group.map(([, { md5, queue }]) => ({ md5, ...queue[0]! }))
      lanes!.update(next.map(({ md5, buffer, bytes }) => ({ md5, bytes: new Uint8Array(buffer, 0, bytes) })))
      for (const [id, entry] of group) {
        const command = entry.queue.shift()!
        program.reply(command, command.isLast ? lanes!.digest(entry.md5) : undefined)
        md5s.delete(id)
        if (!command.isLast) md5s.set(id, entry)
      }
      program.schedule()
    },

    drop(id: number): void {
      hashes.delete(id)
      for (const command of md5s.get(id)?.queue ?? []) program.reply(command, undefined)
      md5s.delete(id)
      program.schedule()
    },

    reply({ id, buffer }: DigestBytes, digest: Uint8Array | undefined): void {
      port.postMessage({ buffer, ended: digest && { id, digest: new Uint8Array(digest) } }, [buffer])
    },
  }
  port.on('message', program.receive)
}
