/**
 * The runtime of this process, and everything that differs on Bun. Node is the default; an entry is removed once Bun
 * behaves like Node. Aborting a response works the same on both: http/break-off.ts.
 */
import { setFlagsFromString } from 'node:v8'

const { bun, node } = process.versions

const isBun = bun !== undefined
/** Further runtimes imitate Node, its version included. */
const isNode = process.release.name === 'node' && !isBun && !('Deno' in globalThis)

/** For messages: `node 20.20.2`, `bun 1.4.4`. */
export const RUNTIME = isBun ? `bun ${bun}` : `node ${node}`

export const RUNTIMES_SUPPORTED = 'Node 20 or Bun 1.4, or newer'

const [major = 0, minor = 0] = (bun ?? node).split('.').map(Number)
export const IS_SUPPORTED = isBun ? major > 1 || (major === 1 && minor >= 4) : major >= 20

/** Bun's `zlib.crc32` is five times as fast as the native package; Node's takes five times as long. */
export const HAS_FASTEST_CRC32 = isBun

/** SHA-256 of four messages in the vectors of WebAssembly: two thirds of the time of one by one on Node, 1.2 on Bun. */
export const HASHES_FASTER_IN_LANES = !isBun

/**
 * Under node:cluster, Node distributes connections from one socket to workers that accept them. On Bun each worker has
 * its own socket on the same port, and the kernel may choose one that is stuck.
 */
export const SHARES_LISTEN_SOCKET = !isBun

/** Node's event loop delay includes the sampling interval, Bun's only the time beyond it. */
export const DELAY_INCLUDES_INTERVAL = !isBun

/**
 * Lets V8's heap grow to five times its live size between full collections. V8 counts the memory behind buffers against
 * a limit that follows the live heap, which is small here: with its own limit every 12 MiB of an upload cost a full
 * collection, a quarter of all processor time. See docs/decisions/digests.md.
 */
export function relaxCollector(): void {
  if (!isBun) setFlagsFromString('--heap-growing-percent=400')
}

/**
 * Lets V8 optimize a function after three fifths of the work that it waits for by default. After a start the first
 * thousands of requests then take a third less processor time; later ones take the same. See docs/performance.md.
 * Only on Node 20: newer ones have a further compiler, and some print an error because they do not know the flag.
 */
export function optimizeEarly(): void {
  if (!isBun && major === 20) setFlagsFromString('--interrupt-budget=40000')
}

/**
 * Node says when a written buffer has left the process: `writableLength` is 0 then. Bun counts only what it has not
 * taken over.
 */
export const REPORTS_WRITTEN_BYTES = isNode

const COLLECT_BYTES = 32 * 2 ** 20

const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } }
let uncollected = 0

/**
 * Counts bytes allocated for bodies, and asks Bun to collect garbage every 32 MiB. Bun's collector goes by the size of
 * objects, not of the memory behind their buffers, so that hundreds of megabytes of dead buffers may pile up. Undefined
 * on Node, whose collector counts that memory by itself.
 */
export const noteExternalBytes: ((bytes: number) => void) | undefined =
  Bun &&
  (bytes => {
    uncollected += bytes
    if (uncollected < COLLECT_BYTES) return
    uncollected = 0
    Bun.gc(false)
  })
