/**
 * SHA-256 of four messages at once in WebAssembly, for processors without instructions for it: one digest leaves most
 * of a vector unused, four take about two thirds of the time each.
 *
 * Each block is computed in two loops that fit into the processor's cache of decoded instructions; unrolled as a whole
 * it takes a quarter longer.
 */
import { type Four, forBlocks, storeAll, transpose } from './four-lanes.ts'
import { type Code, INT, moduleBytes, OP, VECTOR, type WasmFunction } from './wasm-assembler.ts'

/**
 * The memory begins with the states of four digests, 32 bytes each, which a call updates; scratch space follows.
 * `blocks` is at least one. `ROUND_CONSTANTS` are at `CONSTANTS_AT`, each four times.
 */
export interface Sha256Exports {
  readonly memory: { readonly buffer: ArrayBuffer }
  four(at0: number, at1: number, at2: number, at3: number, blocks: number): void
}

const STATE_BEFORE = 128
const WORDS = 256
/** The words of all rounds, each with its constant added. */
const ADDENDS = 512
export const CONSTANTS_AT = 1536
const VECTOR_BYTES = 16
const ROUNDS = 64
const WORDS_PER_BLOCK = 16
/** Of one turn of the loop: afterwards every word of the state is back in its local. */
const ROUNDS_PER_TURN = 8

/** The first bits of the fractional parts of a root of the first primes. */
function fractions(root: (prime: number) => number, count: number): readonly number[] {
  const primes: number[] = []
  for (let n = 2; primes.length < count; n++) if (primes.every(prime => n % prime !== 0)) primes.push(n)
  return primes.map(prime => Math.floor((root(prime) % 1) * 2 ** 32) | 0)
}

export const ROUND_CONSTANTS = fractions(Math.cbrt, ROUNDS)
export const INITIAL_STATE = fractions(Math.sqrt, 8)

const { get, set, tee, int, vectorAdd, vectorAnd, vectorXor } = OP

const lanes: Four = [0, 1, 2, 3]
const blocks = 4
const upper: Four = [5, 6, 7, 8]
const lower: Four = [9, 10, 11, 12]
const state = [...upper, ...lower]
const rows: Four = [13, 14, 15, 16]
const spares: Four = [17, 18, 19, 20]
const [sum, word, previous] = [21, 22, 23] as const
const [turns, offset] = [24, 25] as const
const LOCALS = [...Array<number>(19).fill(VECTOR), INT, INT]

const shifted = (local: number, bits: number): Code => [get(local), int(bits), OP.vectorShiftRight]

/** Vectors have no rotation, but two shifts that share no bit. */
const rotated = (local: number, bits: number): Code => [
  [shifted(local, bits), get(local), int(32 - bits), OP.vectorShiftLeft],
  vectorXor,
]

const xorOf = (first: Code, second: Code, third: Code): Code => [first, second, vectorXor, third, vectorXor]

const rotations = (local: number, [first, second, third]: readonly [number, number, number]): Code =>
  xorOf(rotated(local, first), rotated(local, second), rotated(local, third))

/** Repeats the body, and moves `offset` from zero on by so many bytes each time. */
function repeat(times: number, bytes: number, body: Code): Code {
  return [
    [int(0), set(offset), int(times), set(turns), OP.loop, body],
    [get(offset), int(bytes), OP.add, set(offset)],
    [get(turns), int(1), OP.subtract, tee(turns), OP.branchIf(0), OP.end],
  ]
}

const addend = (index: number): number => ADDENDS + VECTOR_BYTES * index
const constant = (index: number): number => CONSTANTS_AT + VECTOR_BYTES * index
const wordAt = (index: number): Code => [int(0), OP.loadVector(WORDS + VECTOR_BYTES * (index % WORDS_PER_BLOCK))]

/** The block's sixteen words, which are big-endian. */
const loadWords = (): Code =>
  [0, 1, 2, 3].map(quarter => [
    rows.map((row, lane) => [
      [get(lanes[lane]!), OP.loadVector(VECTOR_BYTES * quarter), tee(row), get(row)],
      [OP.swapBytes, set(row)],
    ]),
    [transpose(rows, spares), storeAll(rows, WORDS + 4 * VECTOR_BYTES * quarter)],
  ])

/** FIPS 180-4, 6.2.2, step 1: sixteen further words in the place of the sixteen before them. */
function nextWords(): Code {
  const code: Code[] = []
  for (let index = 0; index < WORDS_PER_BLOCK; index++) {
    code.push(
      [int(0), wordAt(index + 14), set(word), xorOf(rotated(word, 17), rotated(word, 19), shifted(word, 10))],
      [wordAt(index + 1), set(word), xorOf(rotated(word, 7), rotated(word, 18), shifted(word, 3)), vectorAdd],
      [wordAt(index + 9), vectorAdd, wordAt(index), vectorAdd, tee(word)],
      [OP.storeVector(WORDS + VECTOR_BYTES * index)],
      [get(offset), get(word), get(offset), OP.loadVector(constant(WORDS_PER_BLOCK + index)), vectorAdd],
      [OP.storeVector(addend(WORDS_PER_BLOCK + index))],
    )
  }
  return code
}

function addends(): Code {
  const first = Array.from({ length: WORDS_PER_BLOCK }, (_, index) => [
    [int(0), wordAt(index), int(0), OP.loadVector(constant(index)), vectorAdd, OP.storeVector(addend(index))],
  ])
  return [first, repeat(ROUNDS / WORDS_PER_BLOCK - 1, VECTOR_BYTES * WORDS_PER_BLOCK, nextWords())]
}

/**
 * Step 3. The words of the state move on after each round; here the locals change roles instead. The majority of a, b
 * and c is b, changed where a differs from b and b from c; the latter was computed by the round before.
 */
function rounds(): Code {
  const turn = Array.from({ length: ROUNDS_PER_TURN }, (_, round): Code => {
    const roles = state.map((_local, place) => state[(place + ROUNDS_PER_TURN - round) % state.length]!)
    const [a, b, , d, e, f, g, h] = roles as unknown as readonly [...Four, ...Four]
    const choice = [get(f), get(g), vectorXor, get(e), vectorAnd, get(g), vectorXor]
    const majority = [get(a), get(b), vectorXor, tee(word), get(previous), vectorAnd, get(b), vectorXor]
    return [
      [get(h), get(offset), OP.loadVector(addend(round)), vectorAdd, choice, vectorAdd],
      [rotations(e, [6, 11, 25]), vectorAdd, set(sum)],
      [get(d), get(sum), vectorAdd, set(d)],
      [get(sum), rotations(a, [2, 13, 22]), vectorAdd, majority, vectorAdd, set(h)],
      [get(word), set(previous)],
    ]
  })
  return [
    [get(state[1]!), get(state[2]!), vectorXor, set(previous)],
    repeat(ROUNDS / ROUNDS_PER_TURN, VECTOR_BYTES * ROUNDS_PER_TURN, turn),
  ]
}

function four(): WasmFunction {
  const halves = [upper, lower]
  const block = [
    [storeAll(state, STATE_BEFORE), loadWords(), addends(), rounds()],
    state.map((local, index) => [
      [int(0), OP.loadVector(STATE_BEFORE + VECTOR_BYTES * index), get(local), vectorAdd, set(local)],
    ]),
  ]
  /** The state of a lane is two vectors, one for each half. */
  const stateAt = (half: number, lane: number): number => VECTOR_BYTES * (2 * lane + half)
  const body = [
    halves.map((half, which) => [
      half.map((local, lane) => [int(0), OP.loadVector(stateAt(which, lane)), set(local)]),
      transpose(half, spares),
    ]),
    forBlocks(lanes, blocks, block),
    halves.map((half, which) => [
      transpose(half, spares),
      half.map((local, lane) => [int(0), get(local), OP.storeVector(stateAt(which, lane))]),
    ]),
  ]
  return { name: 'four', parameters: [INT, INT, INT, INT, INT], locals: LOCALS, body }
}

/** The module, with a memory of so many pages of 64 KiB. */
export const sha256Module = (pages: number): Uint8Array => moduleBytes(pages, [four()])
