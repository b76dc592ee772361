/**
 * Finds descriptors that finished requests left open. A server also opens some once and keeps them, each at the first
 * request that needs it, in whichever process that request reached: a plain count before and after would include those.
 */

/** The target of each descriptor of one process, as the system reports it. */
export type Descriptors = readonly string[]

/** A volume is open once for reading, and once more where it is appended to. */
const OPEN_PER_VOLUME = 2
const VOLUME = /\/blobs\/volumes\/[^/ ]+$/
/** Event loops and their threads communicate through these; each thread adds a few. */
const PLUMBING = /^(anon_inode|pipe):/
/** Two digest threads, each with four or five. */
const PLUMBING_MORE_MAX = 12

/** How many descriptors that requests may have left behind were added between the two. */
export function leftOpen(before: Descriptors, now: Descriptors): number {
  const plumbing = now.filter(isPlumbing).length - before.filter(isPlumbing).length
  return (
    now.filter(isOfRequests).length -
    before.filter(isOfRequests).length +
    tooOftenOpen(now) +
    Math.max(0, plumbing - PLUMBING_MORE_MAX)
  )
}

function isPlumbing(target: string): boolean {
  return PLUMBING.test(target)
}

/** Connections, and files except volumes; a removed volume counts, since it still occupies space. */
function isOfRequests(target: string): boolean {
  return !isPlumbing(target) && !VOLUME.test(target)
}

function tooOftenOpen(targets: Descriptors): number {
  const times = new Map<string, number>()
  for (const target of targets) if (VOLUME.test(target)) times.set(target, (times.get(target) ?? 0) + 1)
  return [...times.values()].reduce((sum, count) => sum + Math.max(0, count - OPEN_PER_VOLUME), 0)
}
