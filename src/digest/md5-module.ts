/**
 * MD5 in WebAssembly, of up to eight digests at once. Every step of MD5 depends on the one before it, so a core that
 * computes one digest idles most of the time. Two in integers take little longer than one; four fit side by side into
 * the vectors of a core; and eight, in two vectors, take a third longer than four.
 *
 * All are unrolled: 64 steps for a block of 64 bytes, in a loop over the blocks.
 */
import { type Four, forBlocks, storeAll, transpose } from './four-lanes.ts'
import { type Code, INT, moduleBytes, OP, VECTOR, type WasmFunction } from './wasm-assembler.ts'

/**
 * The memory begins with the states of eight digests, 16 bytes each, which a call updates; scratch space follows. The
 * next bytes of each digest are in a lane of its own, so many blocks of them as a call is told, which is at least one.
 * `two` uses the first two of states and lanes, and so on.
 */
export interface Md5Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  one(blocks: number): void
  two(blocks: number): void
  four(blocks: number): void
  eight(blocks: number): void
}

const STATES_BEFORE = 128
const WORDS = 256
export const MD5_LANES_AT = 1024
export const MD5_LANE_BYTES = 16 * 1024
const STEPS = 64
const CONSTANTS = Array.from({ length: STEPS }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0)
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

/** The words of the state rotate after each step; here the locals change roles instead. */
function nextStep(state: Four, step: number, word: Code, on: Arithmetic): Code {
  const rotated = [0, 1, 2, 3].map(place => state[(place + STEPS - step) % 4]!) as unknown as Four
  const [a, b] = rotated
  const round = step >> 4
  return [
    [get(a), word, on.add, on.constant(CONSTANTS[step]!), on.add],
    mix(round, rotated, on),
    on.rotate(ROTATIONS[round]![step % 4]!),
    [get(b), on.add, set(a)],
  ]
}

const { load, store, loadVector } = OP

/** `at` is a position in all lanes, `blocks` how many are left. */
const [blocks, at] = [0, 1]
const POSITION = [INT]

/** The locals of several states, from this one on. */
const statesFrom = (first: number, count: number): Four[] =>
  Array.from({ length: count }, (_, index) => {
    const state = first + 4 * index
    return [state, state + 1, state + 2, state + 3]
  })

/** The same step of all before the next one, so that the processor computes them at the same time. */
const inTurns = (count: number, stepOf: (index: number, step: number) => Code): Code =>
  Array.from({ length: STEPS }, (_, step) => Array.from({ length: count }, (_lane, index) => stepOf(index, step)))

function inIntegers(name: string, count: number): WasmFunction {
  const states = statesFrom(2, count)
  const stepOf = (lane: number, step: number): Code =>
    nextStep(states[lane]!, step, [get(at), load(MD5_LANES_AT + MD5_LANE_BYTES * lane + 4 * wordOf(step))], integers)
  const eachWord = (code: (local: number, offset: number) => Code): Code =>
    states.flat().map((local, index) => code(local, 4 * index))
  const block = [
    inTurns(count, stepOf),
    eachWord((local, offset) => [int(0), int(0), load(offset), get(local), add, tee(local), store(offset)]),
  ]
  const body = [eachWord((local, offset) => [int(0), load(offset), set(local)]), forBlocks([at], blocks, block)]
  return { name, parameters: [INT], locals: [...POSITION, ...states.flat().map(() => INT)], body }
}

function inVectors(name: string, count: number): WasmFunction {
  const states = statesFrom(2, count)
  const [rows, other] = statesFrom(2 + 4 * count, 2) as [Four, Four]
  const spare = 2 + 4 * count + 8
  const before = (vector: number): number => STATES_BEFORE + 64 * vector
  const words = (vector: number): number => WORDS + 256 * vector
  const wordsOfBlock = (vector: number): Code =>
    [0, 1, 2, 3].map(quarter => [
      rows.map((row, lane) => [
        [get(at), loadVector(MD5_LANES_AT + MD5_LANE_BYTES * (4 * vector + lane) + 16 * quarter), set(row)],
      ]),
      [transpose(rows, other), storeAll(rows, words(vector) + 64 * quarter)],
    ])
  const stepOf = (vector: number, step: number): Code => {
    const word = [int(0), loadVector(words(vector) + 16 * wordOf(step))]
    return nextStep(states[vector]!, step, word, vectors(spare + vector))
  }
  const block = [
    // In memory, not in locals: there are more of them than registers, and Bun's compiler handles that badly.
    states.map((state, vector) => [storeAll(state, before(vector)), wordsOfBlock(vector)]),
    inTurns(count, stepOf),
    states.map((state, vector) =>
      state.map((local, index) => [
        [int(0), loadVector(before(vector) + 16 * index), get(local), OP.vectorAdd, set(local)],
      ]),
    ),
  ]
  const body = [
    states.map((state, vector) => [
      state.map((local, lane) => [int(0), loadVector(64 * vector + 16 * lane), set(local)]),
      transpose(state, other),
    ]),
    forBlocks([at], blocks, block),
    states.map((state, vector) => [transpose(state, other), storeAll(state, 64 * vector)]),
  ]
  const locals = Array<number>(4 * count + 8 + count).fill(VECTOR)
  return { name, parameters: [INT], locals: [...POSITION, ...locals], body }
}

/** Up to the end of the last lane. */
const PAGES = Math.ceil((MD5_LANES_AT + 8 * MD5_LANE_BYTES) / (64 * 1024))

export const md5Module = (): Uint8Array =>
  moduleBytes(PAGES, [inIntegers('one', 1), inIntegers('two', 2), inVectors('four', 1), inVectors('eight', 2)])
