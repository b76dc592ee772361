/**
 * MD5 as a module of WebAssembly, in two forms: of one digest, and of four at once. Each of MD5's steps needs what the
 * one before it gave, so a core that computes one digest idles most of the time; four that have nothing to do with each
 * other fit side by side into the vectors of a core and take little longer than one.
 *
 * Both are unrolled: 64 steps over a chunk of 64 bytes, in a loop over the chunks.
 */
import { type Code, INT, moduleBytes, OP, VECTOR, type WasmFunction } from './wasm.ts'

/**
 * A module works in an area of the memory that nobody else uses. At its beginning stand the states of four digests,
 * sixteen bytes each, which a call carries on; `one` takes the first. The next 128 bytes are the caller's, the rest is
 * used meanwhile. At least one chunk has to be asked for.
 *
 * The area is a constant of the module: of an address that is handed in, Bun's compiler makes code half as fast.
 */
export interface Md5Exports {
  one(at: number, chunks: number): void
  four(at0: number, at1: number, at2: number, at3: number, chunks: number): void
}

const STATE_BEFORE = 192
const WORDS = 256
export const AREA_BYTES = 512
/** So many digests fit side by side. */
export const LANES = 4

const CHUNK_BYTES = 64
const CONSTANTS = Array.from({ length: 64 }, (_, step) => Math.floor(Math.abs(Math.sin(step + 1)) * 2 ** 32) | 0)
const ROTATIONS = [
  [7, 12, 17, 22],
  [5, 9, 14, 20],
  [4, 11, 16, 23],
  [6, 10, 15, 21],
] as const

/** Which of a chunk's sixteen words a step takes. */
function wordOf(step: number): number {
  return [step, 5 * step + 1, 3 * step + 5, 7 * step][step >> 4]! % 16
}

type Four = readonly [number, number, number, number]

/** The same steps for integers and for vectors of them. */
interface Arithmetic {
  readonly add: Code
  readonly and: Code
  readonly or: Code
  readonly xor: Code
  readonly not: Code
  readonly constant: (value: number) => Code
  /** Of what stands on the stack. */
  readonly rotate: (bits: number) => Code
}

const { add, and, or, xor, get, set, tee, int } = OP

const integers: Arithmetic = {
  ...{ add, and, or, xor },
  not: [int(-1), xor],
  constant: int,
  rotate: bits => [int(bits), OP.rotateLeft],
}

/** Vectors know no rotation: the value is needed twice, and kept in a local meanwhile. */
const vectors = (spare: number): Arithmetic => ({
  ...{ add: OP.vectorAdd, and: OP.vectorAnd, or: OP.vectorOr, xor: OP.vectorXor, not: OP.vectorNot },
  constant: value => [int(value), OP.spread],
  rotate: bits => [
    [tee(spare), int(bits), OP.vectorShiftLeft],
    [get(spare), int(32 - bits), OP.vectorShiftRight, OP.vectorOr],
  ],
})

/**
 * Adds to the sum on the stack what a step makes of three words of the state. `b` was known last, so whatever does not
 * need it comes first; that is why the second round's choice is two additions, which is the same: no bit is in both.
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

/** The 64 steps of a chunk. The words of the state change places after each, so the locals do instead. */
function steps(state: Four, word: (index: number) => Code, on: Arithmetic): Code {
  const code: Code[] = []
  for (let step = 0; step < 64; step++) {
    const turned = [0, 1, 2, 3].map(place => state[(place + 64 - step) % 4]!) as unknown as Four
    const [a, b] = turned
    const round = step >> 4
    code.push(
      [get(a), word(wordOf(step)), on.add, on.constant(CONSTANTS[step]!), on.add],
      mix(round, turned, on),
      on.rotate(ROTATIONS[round]![step % 4]!),
      [get(b), on.add, set(a)],
    )
  }
  return code
}

/** Goes on with the next chunk, of each lane, as long as there is one. */
function whileChunks(lanes: readonly number[], chunks: number, body: Code): Code {
  const onward = lanes.map(at => [get(at), int(CHUNK_BYTES), add, set(at)])
  return [
    [OP.loop, body, onward],
    [get(chunks), int(1), OP.subtract, tee(chunks), OP.branchIf(0), OP.end],
  ]
}

function one(area: number): WasmFunction {
  const [at, chunks] = [0, 1]
  const state: Four = [2, 3, 4, 5]
  const load = state.map((local, index) => [int(area), OP.load(4 * index), set(local)])
  const chunk = [
    steps(state, index => [get(at), OP.load(4 * index)], integers),
    state.map((local, index) => [
      [int(area), int(area), OP.load(4 * index), get(local), add, tee(local)],
      OP.store(4 * index),
    ]),
  ]
  const body = [load, whileChunks([at], chunks, chunk)]
  return { name: 'one', parameters: [INT, INT], results: [], locals: [INT, INT, INT, INT], body }
}

/** Rows become columns: four lanes of four words each, four words of four lanes each. */
function transpose([a, b, c, d]: Four, [e, f, g, h]: Four): Code {
  const picked = (from: number, other: number, which: Four, to: number): Code => [
    [get(from), get(other), OP.pick(...which), set(to)],
  ]
  return [
    [picked(a, b, [0, 4, 1, 5], e), picked(a, b, [2, 6, 3, 7], f)],
    [picked(c, d, [0, 4, 1, 5], g), picked(c, d, [2, 6, 3, 7], h)],
    [picked(e, g, [0, 1, 4, 5], a), picked(e, g, [2, 3, 6, 7], b)],
    [picked(f, h, [0, 1, 4, 5], c), picked(f, h, [2, 3, 6, 7], d)],
  ]
}

function four(area: number): WasmFunction {
  const lanes: Four = [0, 1, 2, 3]
  const chunks = 4
  const state: Four = [5, 6, 7, 8]
  const rows: Four = [9, 10, 11, 12]
  const other: Four = [13, 14, 15, 16]
  const spare = 17
  const kept = (from: Four, at: number): Code =>
    from.map((local, index) => [int(area), get(local), OP.storeVector(at + 16 * index)])
  const words = [0, 1, 2, 3].map(quarter => [
    rows.map((row, lane) => [get(lanes[lane]!), OP.loadVector(16 * quarter), set(row)]),
    [transpose(rows, other), kept(rows, WORDS + 64 * quarter)],
  ])
  const chunk = [
    // In memory, not in locals: there are more of them than registers, and Bun's compiler makes much worse of it.
    [kept(state, STATE_BEFORE), words],
    steps(state, index => [int(area), OP.loadVector(WORDS + 16 * index)], vectors(spare)),
    state.map((local, index) => [
      [int(area), OP.loadVector(STATE_BEFORE + 16 * index), get(local), OP.vectorAdd, set(local)],
    ]),
  ]
  const body = [
    state.map((local, lane) => [int(area), OP.loadVector(16 * lane), set(local)]),
    [transpose(state, other), whileChunks(lanes, chunks, chunk)],
    [transpose(state, other), kept(state, 0)],
  ]
  const locals = Array<number>(13).fill(VECTOR)
  return { name: 'four', parameters: [INT, INT, INT, INT, INT], results: [], locals, body }
}

/** Works on a shared memory of so many pages. */
export function md5Module(pages: number, area: number): Uint8Array {
  return moduleBytes({ pages, memory: 'shared', functions: [one(area), four(area)] })
}
