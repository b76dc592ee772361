/**
 * What runs inside a thread that computes digests. It arrives there as text, so it may use nothing but what it is given.
 */
import type crypto from 'node:crypto'
import type { Hash } from 'node:crypto'
import type threads from 'node:worker_threads'
import type { Md5, md5Lanes } from './md5-lanes.ts'
import type { Md5Exports } from './md5-module.ts'
import type { WasmMemory, WasmModule, WasmRuntime } from './wasm.ts'

export type DigestAlgorithm = 'md5' | 'sha1' | 'sha256'

/** Bytes in the memory that are to be hashed. */
export interface Bytes {
  readonly lane: number
  readonly order: number
  readonly at: number
  readonly bytes: number
}

/** What a thread is told about one of its digests. */
export type Order =
  | { readonly lane: number; readonly start: DigestAlgorithm }
  | Bytes
  | { readonly lane: number; readonly end: 'digest' | 'nothing' }

/** What it answers. */
export type Reply = { readonly order: number } | { readonly lane: number; readonly digest: Uint8Array }

export interface ThreadData {
  readonly memory: SharedArrayBuffer
  /** The same memory for a module that computes several MD5s at once; undefined where there can be none. */
  readonly md5: { readonly module: WasmModule; readonly memory: WasmMemory; readonly area: number } | undefined
}

interface Given {
  readonly threads: Pick<typeof threads, 'parentPort' | 'workerData'>
  readonly crypto: Pick<typeof crypto, 'createHash'>
  readonly wasm: WasmRuntime | undefined
  readonly md5Lanes: typeof md5Lanes
}

/** An MD5, what is to be done for it, and what is wanted when that is done. */
interface Side {
  readonly md5: Md5
  readonly ahead: Bytes[]
  isEnded: boolean
}

export function digestWork({ threads, crypto, wasm, md5Lanes }: Given): void {
  const { memory, md5 } = threads.workerData as ThreadData
  const port = threads.parentPort!
  const run = md5 && (new wasm!.Instance(md5.module, { outside: { memory: md5.memory } }).exports as Md5Exports)
  const lanes = run && md5Lanes(run, new Uint8Array(memory), md5!.area)
  const hashes = new Map<number, Hash>()
  const sides = new Map<number, Side>()
  /** Those that have bytes ahead, who has waited longest first. */
  const ready = new Map<number, Side>()
  let isDue = false

  /**
   * Who has bytes waits for others to have some too, but only until it has more or is at its end: a client that is slow
   * or silent keeps nobody waiting for longer than that.
   */
  function isTime(): boolean {
    if (ready.size >= Math.min(4, sides.size)) return ready.size > 0
    return [...ready.values()].some(({ ahead, isEnded }) => isEnded || ahead.length > 1)
  }

  /** When all that has come in meanwhile has been looked at. */
  function soon(): void {
    if (isDue || !isTime()) return
    isDue = true
    setImmediate(turn)
  }

  /** Of all that are ready, up to four go on by an order each. */
  function turn(): void {
    isDue = false
    const group = [...ready].slice(0, 4)
    lanes!.update(group.map(([, { md5, ahead }]) => ({ md5, at: ahead[0]!.at, bytes: ahead[0]!.bytes })))
    for (const [lane, side] of group) {
      port.postMessage({ order: side.ahead.shift()!.order })
      ready.delete(lane)
      if (side.ahead.length > 0) ready.set(lane, side)
      else if (side.isEnded) finish(lane, side)
    }
    soon()
  }

  function finish(lane: number, { md5 }: Side): void {
    sides.delete(lane)
    port.postMessage({ lane, digest: lanes!.digest(md5) })
  }

  function together(order: Order, side: Side): void {
    const { lane } = order
    if ('order' in order) {
      side.ahead.push(order)
      ready.set(lane, side)
    } else if ('end' in order && order.end === 'nothing') {
      sides.delete(lane)
      ready.delete(lane)
      for (const { order } of side.ahead) port.postMessage({ order })
    } else if (side.ahead.length > 0) side.isEnded = true
    else finish(lane, side)
    soon()
  }

  function alone(order: Order): void {
    const { lane } = order
    const hash = hashes.get(lane)
    if ('order' in order) {
      hash?.update(new Uint8Array(memory, order.at, order.bytes))
      port.postMessage({ order: order.order })
    } else if ('end' in order) {
      hashes.delete(lane)
      if (order.end === 'digest') port.postMessage({ lane, digest: hash!.digest() })
    }
  }

  port.on('message', (order: Order) => {
    const side = sides.get(order.lane)
    if (side !== undefined) together(order, side)
    else if (!('start' in order)) alone(order)
    else if (order.start === 'md5' && lanes !== undefined)
      sides.set(order.lane, { md5: lanes.start(), ahead: [], isEnded: false })
    else hashes.set(order.lane, crypto.createHash(order.start))
  })
}
