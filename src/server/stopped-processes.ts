/**
 * Detects children that are stopped by a signal (SIGSTOP). Where every worker has its own listening socket, the kernel
 * keeps assigning connections to a stopped one, and its clients wait until it is killed.
 */
import { readFileSync } from 'node:fs'

export const STOPPED_CHECK_MS = 1_000

/** `T` is stopped by a signal; `t` is stopped by a debugger and left alone. False without /proc. */
export function isStopped(pid: number | undefined): boolean {
  try {
    // The program name is in brackets and may itself contain some.
    return /^ T /.test(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\)/s, ''))
  } catch {
    return false
  }
}

/** Finds members stopped at two checks in a row: when a whole group is continued, some may wake up late. */
export class StoppedProcesses<M> {
  #seen = new Set<M>()

  step(members: Iterable<M>, stopped: (member: M) => boolean): M[] {
    const now = new Set([...members].filter(stopped))
    const twice = [...now].filter(member => this.#seen.has(member))
    this.#seen = now
    return twice
  }
}
