/** What runs inside a thread that computes digests. It arrives there as text: it may use only what it is given. */
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type threads from 'node:worker_threads'
import type { md5Batch } from './md5-batch.ts'
import type { Md5InMemory } from './md5-in-memory.ts'
import type { md5Lanes } from './md5-lanes.ts'
import type { Md5Exports } from './md5-module.ts'
import type { WasmRuntime } from './wasm.ts'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** Bytes in the memory that are to be hashed. */
export interface ByteView {
  readonly lane: number
  readonly order: number
  readonly at: number
  readonly bytes: number
}

/** What a thread is told about one of its digests. */
export type DigestCommand =
  | { readonly lane: number; readonly start: DigestAlgorithm }
  | ByteView
  | { readonly lane: number; readonly end: 'digest' | 'nothing' }

/** What it answers. */
export type DigestReply = { readonly order: number } | { readonly lane: number; readonly digest: Uint8Array }

export interface ThreadData {
  readonly memory: SharedArrayBuffer
  /** The same memory for a module that computes several MD5s at once; undefined where there can be none. */
  readonly md5: Md5InMemory | undefined
}

interface Given {
  readonly threads: Pick<typeof threads, 'parentPort' | 'workerData'>
  readonly crypto: Pick<typeof crypto, 'createHash'>
  readonly wasm: WasmRuntime | undefined
  readonly md5Lanes: typeof md5Lanes
  readonly md5Company: typeof md5Batch
}

export function digestWork({ threads, crypto, wasm, md5Lanes, md5Company }: Given): void {
  const { memory, md5 } = threads.workerData as ThreadData
  const port = threads.parentPort!
  const hashes = new Map<number, Hash>()
  const run = md5 && (new wasm!.Instance(md5.module, { outside: { memory: md5.memory } }).exports as Md5Exports)
  const company = run && md5Company(md5Lanes(run, new Uint8Array(memory), md5!.area), port)
  port.on('message', (order: DigestCommand) => {
    const { lane } = order
    if (company?.take(order)) return
    const hash = hashes.get(lane)
    if ('start' in order) {
      if (order.start === 'md5' && company !== undefined) company.start(lane)
      else hashes.set(lane, crypto.createHash(order.start))
    } else if ('order' in order) {
      hash?.update(new Uint8Array(memory, order.at, order.bytes))
      port.postMessage({ order: order.order })
    } else {
      hashes.delete(lane)
      if (order.end === 'digest') port.postMessage({ lane, digest: hash!.digest() })
    }
  })
}
