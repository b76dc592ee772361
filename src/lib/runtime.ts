/**
 * The runtime this process runs on, and everything that is done differently on Bun. Node is the default; where Bun
 * comes to behave as Node does, its entry here goes. Breaking off an answer is the same on both: broken-answer.ts.
 */
import { setFlagsFromString } from 'node:v8'

const { bun, node } = process.versions

const isBun = bun !== undefined

/** For people: `node 20.20.2`, `bun 1.4.4`. */
export const RUNTIME = isBun ? `bun ${bun}` : `node ${node}`

export const RUNTIMES_SUPPORTED = 'Node 20 or Bun 1.4, or newer'

const [major = 0, minor = 0] = (bun ?? node).split('.').map(Number)
export const IS_SUPPORTED = isBun ? major > 1 || (major === 1 && minor >= 4) : major >= 20

/** Bun's `zlib.crc32` is five times as fast as the native package, Node's own a fifth of it. */
export const HAS_FASTEST_CRC32 = isBun

/**
 * Under node:cluster, Node hands connections out from one socket to workers that take them. On Bun each worker has a
 * socket of its own on the same port, and the kernel also chooses one that stands still.
 */
export const WORKERS_SHARE_A_SOCKET = !isBun

/** Of the delay of the event loop, Node counts the pause between two looks in, Bun only the time on top of it. */
export const DELAY_INCLUDES_PAUSE = !isBun

/**
 * Lets V8's heap grow to five times its live size between full collections. V8 counts the memory behind buffers against
 * a limit that follows the live heap, which is small here: with its own limit every 12 MiB of an upload cost a full
 * collection, a quarter of all processor time. See docs/decisions/digests.md.
 */
export function relaxCollector(): void {
  if (!isBun) setFlagsFromString('--heap-growing-percent=400')
}

const COLLECT_BYTES = 32 * 2 ** 20

/**
 * Counts bytes allocated for bodies, and asks Bun to collect garbage every 32 MiB. Bun's collector goes by the size of
 * objects, not of the memory behind their buffers, so that hundreds of megabytes of dead buffers may pile up. Node's
 * collector counts that memory by itself.
 */
const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } }
let uncollected = 0
export const noteExternalBytes: (bytes: number) => void =
  Bun === undefined
    ? () => {}
    : bytes => {
        uncollected += bytes
        if (uncollected < COLLECT_BYTES) return
        uncollected = 0
        Bun.gc(false)
      }
