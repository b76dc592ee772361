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
 * as text: everything in it is its own.
 */
export function md5Lanes(run: Md5Exports, memory: Uint8Array, area: number): Md5Lanes {
  const CHUNK = 64
  const states = new Uint32Array(memory.buffer, memory.byteOffset + area, 4 * 4)
  /** Beside the states there is room for two chunks, whose bytes are not next to each other. */
  const own = area + CHUNK

  function one(md5: Md5, at: number, chunks: number): void {
    states.set(md5.state)
    run.one(at, chunks)
    md5.state.set(states.subarray(0, 4))
  }

  function several(lanes: readonly Md5Bytes[], chunks: number): void {
    for (let lane = 0; lane < lanes.length; lane++) states.set(lanes[lane]!.md5.state, 4 * lane)
    // A lane without a digest computes something that nobody looks at.
    const at = (lane: number): number => (lanes[lane] ?? lanes[0]!).at
    run.four(at(0), at(1), at(2), at(3), chunks)
    for (let lane = 0; lane < lanes.length; lane++) {
      lanes[lane]!.md5.state.set(states.subarray(4 * lane, 4 * lane + 4))
    }
  }

  /** Keeps what is no whole chunk, and completes the one that was begun. */
  function keep(lane: Md5Bytes): void {
    const { md5 } = lane
    const begun = md5.bytes % CHUNK
    const taken = Math.min(lane.bytes, CHUNK - begun)
    md5.rest.set(memory.subarray(lane.at, lane.at + taken), begun)
    md5.bytes += taken
    lane.at += taken
    lane.bytes -= taken
    if (begun + taken < CHUNK) return
    memory.set(md5.rest, own)
    one(md5, own, 1)
  }

  const initial = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476]
  const start = (): Md5 => ({ state: new Uint32Array(initial), rest: new Uint8Array(CHUNK), bytes: 0 })

  function update(given: Md5Bytes[]): void {
    for (const lane of given) if (lane.md5.bytes % CHUNK > 0) keep(lane)
    const whole = (): Md5Bytes[] => given.filter(({ bytes }) => bytes >= CHUNK)
    for (let lanes = whole(); lanes.length > 0; lanes = whole()) {
      const chunks = Math.floor(Math.min(...lanes.map(({ bytes }) => bytes)) / CHUNK)
      if (lanes.length === 1) one(lanes[0]!.md5, lanes[0]!.at, chunks)
      else several(lanes, chunks)
      for (const lane of lanes) {
        lane.md5.bytes += chunks * CHUNK
        lane.at += chunks * CHUNK
        lane.bytes -= chunks * CHUNK
      }
    }
    given.forEach(keep)
  }

  /** A bit, then zeros, then how many bits there were, so that it is whole chunks. */
  function digest(md5: Md5): Uint8Array {
    const begun = md5.bytes % CHUNK
    const chunks = begun < CHUNK - 8 ? 1 : 2
    const end = new Uint8Array(chunks * CHUNK)
    end.set(md5.rest.subarray(0, begun))
    end[begun] = 0x80
    const length = new DataView(end.buffer, end.length - 8)
    length.setUint32(0, (md5.bytes * 8) % 2 ** 32, true)
    length.setUint32(4, Math.floor(md5.bytes / 2 ** 29), true)
    memory.set(end, own)
    one(md5, own, chunks)
    return new Uint8Array(md5.state.slice().buffer)
  }

  return { start, update, digest }
}
