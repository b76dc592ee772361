/**
 * Modules of WebAssembly, put together from their instructions. Only what our few loops need: functions over one
 * memory, integers of 32 and 64 bits, and vectors of four integers.
 */

/** What is used of the runtime's WebAssembly; its types come only with those of a browser. */
export interface WasmModule {
  readonly isWasmModule: true
}
/** A memory that threads can have in common. */
export interface WasmMemory {
  readonly buffer: SharedArrayBuffer
}
export interface WasmRuntime {
  readonly Module: new (bytes: Uint8Array) => WasmModule
  readonly Memory: new (size: { initial: number; maximum: number; shared: true }) => WasmMemory
  readonly Instance: new (module: WasmModule, imports?: object) => { readonly exports: unknown }
}

/** Undefined where programs may not be compiled. */
export const wasm = (globalThis as { WebAssembly?: WasmRuntime }).WebAssembly

export const PAGE_BYTES = 64 * 1024

/** Memory that threads have in common, and their modules as well where there can be modules. */
export interface SharedMemory {
  readonly buffer: SharedArrayBuffer
  readonly wasm: WasmMemory | undefined
}

export function sharedMemory(pages: number): SharedMemory {
  try {
    const memory = new wasm!.Memory({ initial: pages, maximum: pages, shared: true })
    return { buffer: memory.buffer, wasm: memory }
  } catch {
    // A module's memory takes gigabytes of addresses, which a limit may forbid.
    return { buffer: new SharedArrayBuffer(pages * PAGE_BYTES), wasm: undefined }
  }
}

export const INT = 0x7f
export const LONG = 0x7e
export const VECTOR = 0x7b

export function unsigned(value: number): number[] {
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

/** The second number of a memory access is a promise about alignment; none is made. */
const access = (code: readonly number[], offset: number): number[] => [...code, 0, ...unsigned(offset)]
const vector = (code: number): number[] => [0xfd, ...unsigned(code)]

export const OP = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  end: [0x0b],
  branch: (depth: number) => [0x0c, depth],
  branchIf: (depth: number) => [0x0d, depth],
  get: (local: number) => [0x20, ...unsigned(local)],
  set: (local: number) => [0x21, ...unsigned(local)],
  /** Sets a local and leaves the value where it was. */
  tee: (local: number) => [0x22, ...unsigned(local)],

  int: (value: number) => [0x41, ...signed(value)],
  load: (offset: number) => access([0x28], offset),
  loadByte: [0x2d, 0, 0],
  store: (offset: number) => access([0x36], offset),
  greater: [0x4b],
  greaterOrEqual: [0x4f],
  add: [0x6a],
  subtract: [0x6b],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  shiftLeft: [0x74],
  shiftRight: [0x76],
  rotateLeft: [0x77],

  long: (value: number) => [0x42, ...signed(value)],
  loadLong: (offset: number) => access([0x29], offset),
  longXor: [0x85],
  longShiftRight: [0x88],
  toInt: [0xa7],

  loadVector: (offset: number) => access(vector(0x00), offset),
  storeVector: (offset: number) => access(vector(0x0b), offset),
  /** Four integers out of eight, those of the first vector being 0 to 3, of the second 4 to 7. */
  pick: (...from: readonly [number, number, number, number]) => [
    ...vector(0x0d),
    ...from.flatMap(index => [4 * index, 4 * index + 1, 4 * index + 2, 4 * index + 3]),
  ],
  /** An integer, four times. */
  spread: vector(0x11),
  vectorNot: vector(0x4d),
  vectorAnd: vector(0x4e),
  vectorOr: vector(0x50),
  vectorXor: vector(0x51),
  vectorShiftLeft: vector(0xab),
  vectorShiftRight: vector(0xad),
  vectorAdd: vector(0xae),
} as const

/** Instructions, in as many lists within lists as reads best. */
export type Code = readonly (number | Code)[]

export interface WasmFunction {
  readonly name: string
  readonly parameters: readonly number[]
  readonly results: readonly number[]
  readonly locals: readonly number[]
  readonly body: Code
}

/** Its own memory is exported as `memory`; one that is shared is imported as `outside.memory`. */
export interface WasmShape {
  readonly pages: number
  readonly memory: 'own' | 'shared'
  readonly functions: readonly WasmFunction[]
}

function flat(code: Code, into: number[] = []): number[] {
  for (const part of code) {
    if (typeof part === 'number') into.push(part)
    else flat(part, into)
  }
  return into
}

const counted = (items: readonly Code[]): Code => [unsigned(items.length), items]
const text = (value: string): Code => sized([...Buffer.from(value)])
const section = (id: number, body: Code): Code => [id, sized(body)]

function sized(code: Code): Code {
  const bytes = flat(code)
  return [unsigned(bytes.length), bytes]
}

export function moduleBytes({ pages, memory, functions }: WasmShape): Uint8Array {
  const types = functions.map(each => [0x60, sized(each.parameters), sized(each.results)])
  const names = functions.map((each, index) => [text(each.name), 0, unsigned(index)])
  const code = functions.map(({ locals, body }) => sized([counted(locals.map(type => [1, type])), body, OP.end]))
  const isShared = memory === 'shared'
  const limits = [3, unsigned(pages), unsigned(pages)]
  const whole: Code = [
    [0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    section(1, counted(types)),
    isShared ? section(2, counted([[text('outside'), text('memory'), 2, limits]])) : [],
    section(3, counted(functions.map((_, index) => unsigned(index)))),
    isShared ? [] : section(5, counted([[0, unsigned(pages)]])),
    section(7, counted(isShared ? names : [...names, [text('memory'), 2, 0]])),
    section(10, counted(code)),
  ]
  return new Uint8Array(flat(whole))
}
