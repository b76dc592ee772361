/**
 * Notices children that a signal has stopped (SIGSTOP). Where every worker has a listening socket of its own, the
 * kernel goes on handing connections to one that is stopped, and its clients wait until it is ended.
 */
import { readFileSync } from 'node:fs'

export const LOOK_MS = 1_000

/** `T` is stopped by a signal; `t` is held by a debugger, and stays. Where there is no /proc, nobody is found. */
export function isStopped(pid: number | undefined): boolean {
  try {
    // The name of the program stands in brackets, and may itself have some.
    return /^ T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

/** Those that were stopped at two looks in a row: a whole group that is continued may not be all awake at the first. */
export class StoppedProcesses<M> {
  #seen = new Set<M>()

  step(members: Iterable<M>, stopped: (member: M) => boolean): M[] {
    const now = new Set([...members].filter(stopped))
    const twice = [...now].filter(member => this.#seen.has(member))
    this.#seen = now
    return twice
  }
}
