/** The program of a digest thread. It is sent there as text, so it may use nothing but its parameters. */
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type threads from 'node:worker_threads'
import type { md5Lanes } from './md5-lanes.ts'
import type { Md5Bytes, md5Queue, Timers } from './md5-queue.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** The next bytes of a digest: only the last buffer of one is left partly empty. */
interface DigestBytes extends Md5Bytes {
  readonly algorithm: DigestAlgorithm
}

export type DigestCommand = DigestBytes | { readonly drop: number }

/** A buffer that has been hashed comes back to be filled again, the last one of a digest with the result. */
export interface DigestReply {
  readonly buffer: ArrayBuffer
  readonly ended?: { readonly id: number; readonly digest: Uint8Array<ArrayBuffer> }
}

interface Modules {
  readonly threads: Pick<typeof threads, 'parentPort' | 'workerData'>
  readonly crypto: Pick<typeof crypto, 'createHash'>
  readonly timers: Timers
  readonly wasm: WasmRuntime | undefined
  readonly md5Lanes: typeof md5Lanes
  readonly md5Queue: typeof md5Queue
}

/** `workerData` is the module for `md5Lanes`. */
export function digestProgram({ threads, crypto, timers, wasm, md5Lanes, md5Queue }: Modules): void {
  const port = threads.parentPort!
  const hashes = new Map<number, Hash>()
  const program = {
    receive(command: DigestCommand): void {
      if ('drop' in command) program.drop(command.drop)
      else if (command.algorithm === 'md5' && md5s !== undefined) md5s.add(command)
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

    drop(id: number): void {
      hashes.delete(id)
      md5s?.drop(id)
    },

    reply({ id, buffer }: DigestBytes, digest: Uint8Array | undefined): void {
      port.postMessage({ buffer, ended: digest && { id, digest: new Uint8Array(digest) } }, [buffer])
    },
  }
  const lanes = md5Lanes(wasm, threads.workerData as Uint8Array)
  const md5s = lanes && md5Queue({ lanes, timers, reply: program.reply })
  port.on('message', program.receive)
}
