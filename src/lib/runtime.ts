/**
 * The runtime this process runs on, and everything that is done differently on Bun. Node is the default; where Bun
 * comes to behave as Node does, its entry here goes. Breaking off an answer is the same on both: broken-answer.ts.
 */
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
 * On Bun, bytes that came in wait for the collector, which goes by the size of objects and not by that of the memory
 * they hold: hundreds of megabytes may lie there while next to nothing is in use. Node's collector needs no asking.
 */
const { Bun } = globalThis as { Bun?: { gc(now: boolean): void } }
export const askCollector: (() => void) | undefined = Bun === undefined ? undefined : () => Bun.gc(false)
