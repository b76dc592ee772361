import { AREA_BYTES, md5Module } from './md5-module.ts'
import { PAGE_BYTES, type SharedMemory, type WasmMemory, type WasmModule, wasm } from './wasm.ts'

/** A module that computes MD5s of bytes in a memory, where it has an area for itself. */
export interface Md5InMemory {
  readonly module: WasmModule
  readonly memory: WasmMemory
  readonly area: number
}

/** Of the last page: the first is the event loop's, each thread gets another of the rest. */
const AREAS = PAGE_BYTES / AREA_BYTES
let threads = 0

/** Undefined where modules may not be compiled or vectors are not known: then node:crypto computes MD5s. */
export function md5In({ buffer, wasm: memory }: SharedMemory, forWhom: 'loop' | 'thread'): Md5InMemory | undefined {
  if (memory === undefined) return undefined
  // By the time they have all been had, the first thread has long ended.
  const index = forWhom === 'loop' ? 0 : 1 + (threads++ % (AREAS - 1))
  const area = buffer.byteLength - PAGE_BYTES + index * AREA_BYTES
  try {
    return { module: new wasm!.Module(md5Module(buffer.byteLength / PAGE_BYTES, area)), memory, area }
  } catch {
    return undefined
  }
}
