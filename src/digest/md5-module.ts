/**
 * MD5 in WebAssembly, of one digest and of four at once. Every step of MD5 depends on the one before it, so a core that
 * computes one digest idles most of the time; four independent ones fit side by side into the vectors of a core and
 * take little longer than one.
 *
 * Both forms are unrolled: 64 steps for a block of 64 bytes, in a loop over the blocks.
 */
import { type Four, forBlocks, storeAll, transpose } from './four-lanes.ts'
import { type Code, INT, moduleBytes, OP, VECTOR, type WasmFunction } from './wasm-assembler.ts'

/**
 * The memory begins with the states of four digests, 16 bytes each, which a call updates; `one` uses the first. The
 * next 448 bytes are scratch space. `blocks` is at least one.
 */
export interface Md5Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  one(at: number, blocks: number): void
  four(at0: number, at1: number, at2: number, at3: number, blocks: number): void
}

const STATE_BEFORE = 192
const WORDS = 256
const CONSTANTS = Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0)
const ROTATIONS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const

/** The word of the block's sixteen that a step uses. */
const wordOf = (step: number): number => [step, 5 * step + 1, 3 * step + 5, 7 * step][step >> 4]! % 16

/** The same steps for integers and for vectors of them. */
interface Arithmetic {
  readonly add: Code
  readonly and: Code
  readonly or: Code
  readonly xor: Code
  readonly not: Code
  readonly constant: (value: number) => Code
  /** Rotates the value on the stack to the left. */
  readonly rotate: (bits: number) => Code
}

const { add, and, or, xor, get, set, tee, int } = OP

const integers: Arithmetic = {
  ...{ add, and, or, xor },
  not: [int(-1), xor],
  constant: int,
  rotate: bits => [int(bits), OP.rotateLeft],
}

/** Vectors have no rotation: the value is needed twice, and kept in the local `spare` meanwhile. */
const vectors = (spare: number): Arithmetic => ({
  ...{ add: OP.vectorAdd, and: OP.vectorAnd, or: OP.vectorOr, xor: OP.vectorXor, not: OP.vectorNot },
  constant: value => [int(value), OP.splat],
  rotate: bits => [
    [tee(spare), int(bits), OP.vectorShiftLeft],
    [get(spare), int(32 - bits), OP.vectorShiftRight, OP.vectorOr],
  ],
})

/**
 * Adds MD5's function of b, c and d to the sum on the stack. `b` is known last, so everything that does not need it
 * comes first. In the second round that takes two additions instead of an `or`, which is the same since no bit is set
 * in both terms.
 */
function mix(round: number, [, b, c, d]: Four, on: Arithmetic): Code {
  if (round === 0) return [get(c), get(d), on.xor, get(b), on.and, get(d), on.xor, on.add]
  if (round === 1) {
    const early = [get(d), on.not, get(c), on.and, on.add]
    return [early, get(b), get(d), on.and, on.add]
  }
  if (round === 2) return [get(c), get(d), on.xor, get(b), on.xor, on.add]
  return [get(d), on.not, get(b), on.or, get(c), on.xor, on.add]
}

/** The 64 steps of a block. The words of the state rotate after each step; here the locals change roles instead. */
function steps(state: Four, word: (index: number) => Code, on: Arithmetic): Code {
  const code: Code[] = []
  for (let step = 0; step < 64; step++) {
    const rotated = [0, 1, 2, 3].map(place => state[(place + 64 - step) % 4]!) as unknown as Four
    const [a, b] = rotated
    const round = step >> 4
    code.push(
      [get(a), word(wordOf(step)), on.add, on.constant(CONSTANTS[step]!), on.add],
      mix(round, rotated, on),
      on.rotate(ROTATIONS[round]![step % 4]!),
      [get(b), on.add, set(a)],
    )
  }
  return code
}

function one(): WasmFunction {
  const [at, blocks] = [0, 1]
  const state: Four = [2, 3, 4, 5]
  const load = state.map((local, index) => [int(0), OP.load(4 * index), set(local)])
  const block = [
    steps(state, index => [get(at), OP.load(4 * index)], integers),
    state.map((local, index) => [
      [int(0), int(0), OP.load(4 * index), get(local), add, tee(local)],
      OP.store(4 * index),
    ]),
  ]
  const body = [load, forBlocks([at], blocks, block)]
  return { name: 'one', parameters: [INT, INT], locals: [INT, INT, INT, INT], body }
}

function four(): WasmFunction {
  const lanes: Four = [0, 1, 2, 3]
  const blocks = 4
  const state: Four = [5, 6, 7, 8]
  const rows: Four = [9, 10, 11, 12]
  const other: Four = [13, 14, 15, 16]
  const spare = 17
  const words = [0, 1, 2, 3].map(quarter => [
    rows.map((row, lane) => [get(lanes[lane]!), OP.loadVector(16 * quarter), set(row)]),
    [transpose(rows, other), storeAll(rows, WORDS + 64 * quarter)],
  ])
  const block = [
    // In memory, not in locals: there are more of them than registers, and Bun's compiler handles that badly.
    [storeAll(state, STATE_BEFORE), words],
    steps(state, index => [int(0), OP.loadVector(WORDS + 16 * index)], vectors(spare)),
    state.map((local, index) => [
      [int(0), OP.loadVector(STATE_BEFORE + 16 * index), get(local), OP.vectorAdd, set(local)],
    ]),
  ]
  const body = [
    state.map((local, lane) => [int(0), OP.loadVector(16 * lane), set(local)]),
    [transpose(state, other), forBlocks(lanes, blocks, block)],
    [transpose(state, other), storeAll(state, 0)],
  ]
  const locals = Array<number>(13).fill(VECTOR)
  return { name: 'four', parameters: [INT, INT, INT, INT, INT], locals, body }
}

/** The module, with a memory of so many pages of 64 KiB. */
export const md5Module = (pages: number): Uint8Array => moduleBytes(pages, [one(), four()])
