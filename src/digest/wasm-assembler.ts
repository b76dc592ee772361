/**
 * Assembles WebAssembly modules from instructions. It knows only what the loops of this folder need: functions over one
 * memory, 32-bit integers, and vectors of four of them.
 */

/** The part of the runtime's WebAssembly that is used; its types come only with those of a browser. */
export interface WasmRuntime {
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

export const INT = 0x7f
export const VECTOR = 0x7b

/** LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>>= 7) {
    if (rest < 0x80) return [...bytes, rest]
    bytes.push((rest & 0x7f) | 0x80)
  }
}

function signed(value: number): number[] {
  const bytes: number[] = []
  for (let rest = value; ; rest >>= 7) {
    const low = rest & 0x7f
    if (rest >> 6 === 0 || rest >> 6 === -1) return [...bytes, low]
    bytes.push(low | 0x80)
  }
}

/** The zero is a promise about alignment: none is made. */
const access = (code: readonly number[], offset: number): number[] => [...code, 0, ...unsigned(offset)]
const vector = (code: number): number[] => [0xfd, ...unsigned(code)]

export const OP = {
  loop: [0x03, 0x40],
  end: [0x0b],
  branchIf: (depth: number) => [0x0d, depth],
  get: (local: number) => [0x20, ...unsigned(local)],
  set: (local: number) => [0x21, ...unsigned(local)],
  /** Sets a local and leaves the value on the stack. */
  tee: (local: number) => [0x22, ...unsigned(local)],

  int: (value: number) => [0x41, ...signed(value)],
  load: (offset: number) => access([0x28], offset),
  store: (offset: number) => access([0x36], offset),
  add: [0x6a],
  subtract: [0x6b],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  rotateLeft: [0x77],

  loadVector: (offset: number) => access(vector(0x00), offset),
  storeVector: (offset: number) => access(vector(0x0b), offset),
  /** Picks four integers out of eight: 0 to 3 are those of the first vector, 4 to 7 those of the second. */
  shuffle: (...from: readonly [number, number, number, number]) => [
    ...vector(0x0d),
    ...from.flatMap(index => [4 * index, 4 * index + 1, 4 * index + 2, 4 * index + 3]),
  ],
  /** Swaps the bytes of each integer of a vector, which is on the stack twice. */
  swapBytes: [...vector(0x0d), ...[3, 2, 1, 0].flatMap((_, word) => [3, 2, 1, 0].map(byte => 4 * word + byte))],
  /** The same integer in all four places. */
  splat: vector(0x11),
  vectorNot: vector(0x4d),
  vectorAnd: vector(0x4e),
  vectorOr: vector(0x50),
  vectorXor: vector(0x51),
  vectorShiftLeft: vector(0xab),
  vectorShiftRight: vector(0xad),
  vectorAdd: vector(0xae),
} as const

/** Instructions, nested as reads best. */
export type Code = readonly (number | Code)[]

export interface WasmFunction {
  readonly name: string
  readonly parameters: readonly number[]
  readonly locals: readonly number[]
  readonly body: Code
}

function flat(code: Code, into: number[] = []): number[] {
  for (const part of code) {
    if (typeof part === 'number') into.push(part)
    else flat(part, into)
  }
  return into
}

const counted = (items: readonly Code[]): Code => [unsigned(items.length), items]
const section = (id: number, body: Code): Code => [id, sized(body)]
const text = (value: string): Code => sized([...Buffer.from(value)])

function sized(code: Code): Code {
  const bytes = flat(code)
  return [unsigned(bytes.length), bytes]
}

/** A module that exports its functions, none of which returns a value, and a memory of so many pages of 64 KiB. */
export function moduleBytes(pages: number, functions: readonly WasmFunction[]): Uint8Array {
  const types = functions.map(({ parameters }) => [0x60, sized(parameters), sized([])])
  const names = functions.map(({ name }, index) => [text(name), 0, unsigned(index)])
  const code = functions.map(({ locals, body }) => sized([counted(locals.map(type => [1, type])), body, OP.end]))
  const whole: Code = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, counted(types)),
    section(3, counted(functions.map((_, index) => unsigned(index)))),
    section(5, counted([[0, unsigned(pages)]])),
    section(7, counted([...names, [text('memory'), 2, 0]])),
    section(10, counted(code)),
  ]
  return new Uint8Array(flat(whole))
}
