import type { Md5Exports } from './md5-module.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

/** An MD5 in progress. */
export interface Md5 {
  readonly state: Uint32Array
  /** The bytes after the last whole block of 64; none but the last piece of a body may leave any. */
  rest: Uint8Array
  bytes: number
}

/** The next bytes of one MD5. */
export interface Md5Piece {
  readonly md5: Md5
  readonly bytes: Uint8Array
}

export interface Md5Lanes {
  start(): Md5
  /** Takes pieces of up to eight MD5s. */
  update(pieces: readonly Md5Piece[]): void
  digest(md5: Md5): Uint8Array
}

/**
 * Computes up to eight MD5s at a time. The function is sent to a thread as text, so it may use nothing but its
 * parameters, and its own functions are methods: bundlers that keep the names of functions wrap all others in a helper
 * that is missing there.
 *
 * Undefined where the module cannot run, for example because the processor has no vectors.
 */
export function md5Lanes(wasm: WasmRuntime | undefined, module: Uint8Array): Md5Lanes | undefined {
  const BLOCK_BYTES = 64
  /** As in the module. */
  const LANES_AT = 1024
  const LANE_BLOCKS = 256
  let run: Md5Exports
  try {
    run = new wasm!.Instance(new wasm!.Module(module)).exports as Md5Exports
  } catch {
    return undefined
  }
  const memory = new Uint8Array(run.memory.buffer)
  const states = new Uint32Array(run.memory.buffer, 0, 32)
  const lanes = {
    start(): Md5 {
      const state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476])
      return { state, rest: new Uint8Array(0), bytes: 0 }
    },

    update(pieces: readonly Md5Piece[]): void {
      let open = pieces.map(({ md5, bytes }) => {
        if (md5.rest.length > 0) throw new Error('only the last piece of a body may end inside a block')
        const whole = bytes.length - (bytes.length % BLOCK_BYTES)
        md5.rest = bytes.slice(whole)
        md5.bytes += bytes.length
        return { state: md5.state, left: bytes.subarray(0, whole) }
      })
      // Lane by lane in short pieces, which stay in the processor's cache.
      while ((open = open.filter(({ left }) => left.length > 0)).length > 0) {
        const blocks = Math.min(LANE_BLOCKS, ...open.map(({ left }) => left.length / BLOCK_BYTES))
        lanes.run(open, blocks)
        for (const lane of open) lane.left = lane.left.subarray(blocks * BLOCK_BYTES)
      }
    },

    /** RFC 1321, 3.1 and 3.2: a set bit, zeros up to a whole block, the length in bits at its end. */
    digest({ state, rest, bytes }: Md5): Uint8Array {
      const blocks = rest.length < BLOCK_BYTES - 8 ? 1 : 2
      const end = new Uint8Array(blocks * BLOCK_BYTES)
      end.set(rest)
      end[rest.length] = 0x80
      const length = new DataView(end.buffer, end.length - 8)
      length.setUint32(0, (bytes * 8) % 2 ** 32, true)
      length.setUint32(4, Math.floor(bytes / 2 ** 29), true)
      lanes.run([{ state, left: end }], blocks)
      return new Uint8Array(state.slice().buffer)
    },

    /** Lanes that are not needed compute something that is ignored. */
    run(open: readonly { readonly state: Uint32Array; readonly left: Uint8Array }[], blocks: number): void {
      for (const [lane, { state, left }] of open.entries()) {
        states.set(state, 4 * lane)
        memory.set(left.subarray(0, blocks * BLOCK_BYTES), LANES_AT + lane * LANE_BLOCKS * BLOCK_BYTES)
      }
      if (open.length === 1) run.one(blocks)
      else if (open.length === 2) run.two(blocks)
      else if (open.length <= 4) run.four(blocks)
      else run.eight(blocks)
      for (const [lane, { state }] of open.entries()) state.set(states.subarray(4 * lane, 4 * lane + 4))
    },
  }
  return lanes
}
