import { HASHES_FASTER_IN_LANES } from '../lib/runtime.ts'
import { BLOCK_BYTES } from './four-lanes.ts'
import { oneShotHash } from './one-shot-hash.ts'
import { CONSTANTS_AT, INITIAL_STATE, ROUND_CONSTANTS, type Sha256Exports, sha256Module } from './sha256-module.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

const LANES = 4
const STATE_BYTES = 32
/** The states, the constants and the scratch space of the module are in the first page. */
const FIRST_LANE = 64 * 1024
/** Of one message, without its padding: four of these are hashed in one to two milliseconds. */
export const LANE_BYTES_MAX = 128 * 1024
/** A page more than the longest message, for the padding; so lanes are not a power of two apart. */
const LANE_STRIDE = LANE_BYTES_MAX + FIRST_LANE
const PAGES = (FIRST_LANE + LANES * LANE_STRIDE) / FIRST_LANE

/** A message in pieces. */
type Pieces = readonly Uint8Array[]

/** Computes SHA-256 of four messages at a time, on the calling thread. */
export class Sha256Lanes {
  readonly #run: Sha256Exports
  readonly #memory: Uint8Array
  readonly #states: DataView

  /** Fails where the module cannot run, for example because the processor has no vectors. */
  constructor(wasm: WasmRuntime) {
    this.#run = new wasm.Instance(new wasm.Module(sha256Module(PAGES))).exports as Sha256Exports
    const { buffer } = this.#run.memory
    this.#memory = new Uint8Array(buffer)
    this.#states = new DataView(buffer, 0, LANES * STATE_BYTES)
    const constants = ROUND_CONSTANTS.flatMap(constant => Array<number>(LANES).fill(constant))
    new Int32Array(buffer, CONSTANTS_AT, constants.length).set(constants)
  }

  /** The digests of four messages of this length, at most `LANE_BYTES_MAX`, in hexadecimal digits. */
  hash(messages: readonly Pieces[], bytes: number): string[] {
    if (messages.length !== LANES || bytes > LANE_BYTES_MAX) throw new Error('these messages do not fit the lanes')
    const starts = messages.map((pieces, lane) => this.#load(pieces, bytes, FIRST_LANE + lane * LANE_STRIDE))
    for (let at = 0; at < LANES * STATE_BYTES; at += 4) {
      this.#states.setInt32(at, INITIAL_STATE[(at % STATE_BYTES) / 4]!, true)
    }
    const [first, second, third, fourth] = starts as [number, number, number, number]
    this.#run.four(first, second, third, fourth, paddedBytes(bytes) / BLOCK_BYTES)
    return starts.map((_, lane) => this.#digest(lane * STATE_BYTES))
  }

  /** FIPS 180-4, 5.1.1: the message, a set bit, zeros up to a whole block, the length in bits at its end. */
  #load(pieces: Pieces, bytes: number, start: number): number {
    let at = start
    for (const piece of pieces) {
      this.#memory.set(piece, at)
      at += piece.length
    }
    if (at !== start + bytes) throw new Error('a message has another length than it should')
    const end = start + paddedBytes(bytes)
    this.#memory.fill(0, at, end)
    this.#memory[at] = 0x80
    new DataView(this.#memory.buffer, end - 4).setUint32(0, 8 * bytes)
    return start
  }

  #digest(at: number): string {
    const digest = Buffer.alloc(STATE_BYTES)
    for (let word = 0; word < STATE_BYTES; word += 4) {
      digest.writeUInt32BE(this.#states.getUint32(at + word, true), word)
    }
    return digest.toString('hex')
  }
}

const paddedBytes = (bytes: number): number => Math.ceil((bytes + 9) / BLOCK_BYTES) * BLOCK_BYTES

const PROBE_BYTES = 16 * 1024
const PROBES = 5

/** The least time of several, because others use the processor too. */
function leastTime(algorithm: 'md5' | 'sha256', data: Buffer): number {
  const times = Array.from({ length: PROBES }, () => {
    const started = performance.now()
    oneShotHash(algorithm, data, 'hex')
    return performance.now() - started
  })
  return Math.min(...times)
}

/**
 * No processor has instructions for MD5, and SHA-256 takes about twice as long without any. With its own it takes less
 * than half as long, and four lanes would be slower.
 */
export function hasSha256Instructions(): boolean {
  const data = Buffer.alloc(PROBE_BYTES, 'probe')
  return leastTime('sha256', data) < leastTime('md5', data)
}

let lanes: Sha256Lanes | undefined | 'unknown' = 'unknown'

/** The lanes of this process, where they take less time than one message after the other. */
export function sha256Lanes(): Sha256Lanes | undefined {
  if (lanes === 'unknown') lanes = HASHES_FASTER_IN_LANES && !hasSha256Instructions() ? startedLanes() : undefined
  return lanes
}

function startedLanes(): Sha256Lanes | undefined {
  const { WebAssembly: wasm } = globalThis as { WebAssembly?: WasmRuntime }
  try {
    return wasm && new Sha256Lanes(wasm)
  } catch {
    return undefined
  }
}
