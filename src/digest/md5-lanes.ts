import type { Md5Exports } from './md5-module.ts'

/** A digest that is being computed. */
export interface Md5 {
  readonly state: Uint32Array
  /** What has come since the last whole chunk of 64 bytes. */
  readonly rest: Uint8Array
  bytes: number
}

/** More bytes of a digest, which lie in the memory. */
export interface Md5Bytes {
  readonly md5: Md5
  at: number
  bytes: number
}

export interface Md5Lanes {
  start(): Md5
  /** As many as there are lanes, or fewer, each of another digest. */
  update(lanes: Md5Bytes[]): void
  digest(md5: Md5): Uint8Array
}

/**
 * MD5 of up to four digests at a time, over bytes in `memory`, by a module that works in `area`. It travels to a thread
 * as text: everything in it is its own, and its functions are methods (see `md5-company.ts`).
 */
export function md5Lanes(run: Md5Exports, memory: Uint8Array, area: number): Md5Lanes {
  const CHUNK = 64
  const states = new Uint32Array(memory.buffer, memory.byteOffset + area, 4 * 4)
  /** Beside the states there is room for two chunks, whose bytes are not next to each other. */
  const own = area + CHUNK
  const lanes = {
    start(): Md5 {
      const state = new Uint32Array([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476])
      return { state, rest: new Uint8Array(CHUNK), bytes: 0 }
    },

    update(given: Md5Bytes[]): void {
      for (const lane of given) if (lane.md5.bytes % CHUNK > 0) lanes.keep(lane)
      let whole = given
      while ((whole = whole.filter(({ bytes }) => bytes >= CHUNK)).length > 0) {
        const chunks = Math.floor(Math.min(...whole.map(({ bytes }) => bytes)) / CHUNK)
        if (whole.length === 1) lanes.one(whole[0]!.md5, whole[0]!.at, chunks)
        else lanes.several(whole, chunks)
        for (const lane of whole) lanes.pass(lane, chunks * CHUNK)
      }
      given.forEach(lanes.keep)
    },

    /** A bit, then zeros, then how many bits there were, so that it is whole chunks. */
    digest(md5: Md5): Uint8Array {
      const begun = md5.bytes % CHUNK
      const chunks = begun < CHUNK - 8 ? 1 : 2
      const end = new Uint8Array(chunks * CHUNK)
      end.set(md5.rest.subarray(0, begun))
      end[begun] = 0x80
      const length = new DataView(end.buffer, end.length - 8)
      length.setUint32(0, (md5.bytes * 8) % 2 ** 32, true)
      length.setUint32(4, Math.floor(md5.bytes / 2 ** 29), true)
      memory.set(end, own)
      lanes.one(md5, own, chunks)
      return new Uint8Array(md5.state.slice().buffer)
    },

    one(md5: Md5, at: number, chunks: number): void {
      states.set(md5.state)
      run.one(at, chunks)
      md5.state.set(states.subarray(0, 4))
    },

    /** A lane without a digest computes something that nobody looks at. */
    several(given: readonly Md5Bytes[], chunks: number): void {
      for (const [lane, { md5 }] of given.entries()) states.set(md5.state, 4 * lane)
      const [first, second, third = first, fourth = first] = given
      run.four(first!.at, second!.at, third!.at, fourth!.at, chunks)
      for (const [lane, { md5 }] of given.entries()) md5.state.set(states.subarray(4 * lane, 4 * lane + 4))
    },

    /** Keeps what is no whole chunk, and completes the one that was begun. */
    keep(lane: Md5Bytes): void {
      const { md5, at } = lane
      const begun = md5.bytes % CHUNK
      const taken = Math.min(lane.bytes, CHUNK - begun)
      md5.rest.set(memory.subarray(at, at + taken), begun)
      lanes.pass(lane, taken)
      if (begun + taken < CHUNK) return
      memory.set(md5.rest, own)
      lanes.one(md5, own, 1)
    },

    pass(lane: Md5Bytes, bytes: number): void {
      lane.md5.bytes += bytes
      lane.at += bytes
      lane.bytes -= bytes
    },
  }
  return lanes
}
