/**
 * CRC-64/NVME, sixteen bytes at a step. JavaScript has no 64-bit integers that are fast, WebAssembly has; so the loop
 * is a WebAssembly function of a few hundred bytes, put together below from its instructions, with its tables and a
 * window for the data in its memory. One instance serves the whole process: a call never yields, so none meets another.
 */

import { type Code, INT, LONG, moduleBytes, OP, PAGE_BYTES, wasm } from './wasm.ts'

/** The polynomial, bits reversed. */
export const CRC64_NVME = 0x9a6c9329ac4bc9b5n

const STEP = 16
const TABLE_BYTES = 256 * 8
const WINDOW = STEP * TABLE_BYTES
const WINDOW_BYTES = 64 * 1024

const CRC = 0
const AT = 1
const END = 2
const LOW = 3
const HIGH = 4

/** What a table says about one byte of a 64-bit local; entries are eight bytes, so the index is shifted less. */
function lookUp(local: number, byte: number, table: number): Code {
  const shift = byte * 8 - 3
  const index =
    shift < 0
      ? [OP.get(local), OP.toInt, OP.int(3), OP.shiftLeft]
      : [OP.get(local), OP.long(shift), OP.longShiftRight, OP.toInt]
  return [index, OP.int(0x7f8), OP.and, OP.loadLong(table * TABLE_BYTES)]
}

/** `(crc, at, end) → crc`, over the bytes of memory from `at` to `end`. */
function loopBody(): Code {
  const lookUps: Code[] = []
  for (let byte = 0; byte < STEP; byte++) {
    lookUps.push(lookUp(byte < 8 ? LOW : HIGH, byte % 8, STEP - 1 - byte))
    if (byte > 0) lookUps.push(OP.longXor)
  }
  const steps = [
    [OP.get(AT), OP.int(STEP), OP.add, OP.get(END), OP.greater, OP.branchIf(1)],
    [OP.get(AT), OP.loadLong(0), OP.get(CRC), OP.longXor, OP.set(LOW)],
    [OP.get(AT), OP.loadLong(8), OP.set(HIGH)],
    [lookUps, OP.set(CRC)],
    [OP.get(AT), OP.int(STEP), OP.add, OP.set(AT), OP.branch(0)],
  ]
  const byteIndex = [
    [OP.get(CRC), OP.toInt, OP.get(AT), OP.loadByte, OP.xor],
    [OP.int(0xff), OP.and, OP.int(3), OP.shiftLeft],
  ]
  const rest = [
    [OP.get(AT), OP.get(END), OP.greaterOrEqual, OP.branchIf(1)],
    [byteIndex, OP.loadLong(0), OP.get(CRC), OP.long(8), OP.longShiftRight, OP.longXor],
    [OP.set(CRC), OP.get(AT), OP.int(1), OP.add, OP.set(AT), OP.branch(0)],
  ]
  const looped = (body: Code) => [OP.block, OP.loop, body, OP.end, OP.end]
  return [looped(steps), looped(rest), OP.get(CRC)]
}

interface Machine {
  crc(crc: bigint, at: number, end: number): bigint
  readonly memory: { readonly buffer: ArrayBuffer }
}

/** Table 0 carries a byte through eight zero bits; table n carries it through n more zero bytes. */
function fillTables(memory: Machine['memory']): void {
  const table = new BigUint64Array(memory.buffer, 0, STEP * 256)
  for (let byte = 0; byte < 256; byte++) {
    let entry = BigInt(byte)
    for (let bit = 0; bit < 8; bit++) entry = (entry & 1n) === 1n ? (entry >> 1n) ^ CRC64_NVME : entry >> 1n
    table[byte] = entry
  }
  for (let i = 256; i < table.length; i++) {
    const entry = table[i - 256]!
    table[i] = (entry >> 8n) ^ table[Number(entry & 0xffn)]!
  }
}

let machine: Machine | undefined
let window: Uint8Array

/** Made on first use: most processes of the command line never need it. */
function start(): Machine {
  const { Module, Instance } = wasm!
  const crc = { name: 'crc', parameters: [LONG, INT, INT], results: [LONG], locals: [LONG, LONG], body: loopBody() }
  const pages = Math.ceil((WINDOW + WINDOW_BYTES) / PAGE_BYTES)
  const { exports } = new Instance(new Module(moduleBytes({ pages, memory: 'own', functions: [crc] })))
  const made = exports as Machine
  fillTables(made.memory)
  window = new Uint8Array(made.memory.buffer, WINDOW, WINDOW_BYTES)
  return made
}

const ONES = 0xffff_ffff_ffff_ffffn

/** The CRC of what gave `crc` followed by `bytes`; start from 0. */
export function crc64(bytes: Uint8Array, crc = 0n): bigint {
  machine ??= start()
  let state = crc ^ ONES
  for (let from = 0; from < bytes.length; from += WINDOW_BYTES) {
    const piece = bytes.subarray(from, from + WINDOW_BYTES)
    window.set(piece)
    state = machine.crc(state, WINDOW, WINDOW + piece.length)
  }
  return BigInt.asUintN(64, state) ^ ONES
}
