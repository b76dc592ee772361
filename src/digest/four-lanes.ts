/** The code that MD5 and SHA-256 share where they compute four digests side by side in vectors. */
import { type Code, OP } from './wasm-assembler.ts'

export type Four = readonly [number, number, number, number]

export const BLOCK_BYTES = 64

const { get, set, tee, int } = OP

/** Repeats the body for each block, and moves all lanes to their next one. */
export function forBlocks(lanes: readonly number[], blocks: number, body: Code): Code {
  const advance = lanes.map(at => [get(at), int(BLOCK_BYTES), OP.add, set(at)])
  return [
    [OP.loop, body, advance],
    [get(blocks), int(1), OP.subtract, tee(blocks), OP.branchIf(0), OP.end],
  ]
}

/** Turns four lanes of four words into four words of four lanes, and back. */
export function transpose([a, b, c, d]: Four, [e, f, g, h]: Four): Code {
  const shuffled = (from: number, other: number, which: Four, to: number): Code => [
    [get(from), get(other), OP.shuffle(...which), set(to)],
  ]
  return [
    [shuffled(a, b, [0, 4, 1, 5], e), shuffled(a, b, [2, 6, 3, 7], f)],
    [shuffled(c, d, [0, 4, 1, 5], g), shuffled(c, d, [2, 6, 3, 7], h)],
    [shuffled(e, g, [0, 1, 4, 5], a), shuffled(e, g, [2, 3, 6, 7], b)],
    [shuffled(f, h, [0, 1, 4, 5], c), shuffled(f, h, [2, 3, 6, 7], d)],
  ]
}

/** Stores vectors one after the other. */
export const storeAll = (from: readonly number[], at: number): Code =>
  from.map((local, index) => [int(0), get(local), OP.storeVector(at + 16 * index)])
