/**
 * What open descriptors of a process say of requests that are over. A server also opens things once and keeps them,
 * each at the first request that needs it, in whichever process that request reached: a plain count before and after
 * would blame it for those.
 */

/** What the system says stands behind each descriptor of one process. */
export type Descriptors = readonly string[]

/** A volume is open once for reading, and once more where it is appended to. */
const OPEN_PER_VOLUME = 2
const VOLUME = /\/blobs\/volumes\/[^/ ]+$/
/** Event loops and the threads beside them talk through these; each thread brings a few. */
const PLUMBING = /^(anon_inode|pipe):/
/** Two threads for digests, each with four or five. */
const PLUMBING_MORE_MAX = 12

/** How many descriptors the second has over the first that requests may have left behind. */
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

/** Connections, and files that are neither volumes nor removed ones that still take room. */
function isOfRequests(target: string): boolean {
  return !isPlumbing(target) && !VOLUME.test(target)
}

function tooOftenOpen(targets: Descriptors): number {
  const times = new Map<string, number>()
  for (const target of targets) if (VOLUME.test(target)) times.set(target, (times.get(target) ?? 0) + 1)
  return [...times.values()].reduce((sum, count) => sum + Math.max(0, count - OPEN_PER_VOLUME), 0)
}
