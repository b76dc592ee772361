/**
 * On Bun, bytes that came in wait for the collector, which goes by the size of objects and not by that of the memory
 * they hold: hundreds of megabytes may lie there while next to nothing is in use. So it is asked, beside the event
 * loop, whenever so much has come in. Node's collector needs no asking.
 */
const BETWEEN_BYTES = 32 * 2 ** 20

const bun = (globalThis as { Bun?: { gc(now: boolean): void } }).Bun

let since = 0

/** So many bytes came in, in buffers that nobody uses again. */
export function cameIn(bytes: number): void {
  if (bun === undefined) return
  since += bytes
  if (since < BETWEEN_BYTES) return
  since = 0
  bun.gc(false)
}

interface Transferable {
  /** Since ES2024; Node 20 does not have it. */
  transfer?(bytes: number): unknown
}

/**
 * Nobody will ever look at these bytes, and nobody else has a view of them. Gives back their memory now, where that can
 * be done: what is used again at once is still at hand, and never waits for the collector.
 */
export function free(bytes: Buffer): void {
  if (bytes.length === bytes.buffer.byteLength) (bytes.buffer as Transferable).transfer?.(0)
}
