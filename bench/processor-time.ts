/** Processor time of processes, as the kernel counts it. */
import { readFileSync } from 'node:fs'

/** The kernel's unit in /proc, the same on every platform that Linux supports. */
const TICKS_PER_SECOND = 100

/** Fields of a process in /proc that follow its name, which may contain spaces. */
function fieldsOf(pid: number): readonly number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

function childrenOf(pid: number): readonly number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
}

function ticksOf(pid: number): number {
  // utime and stime of all threads, then those of children that have ended.
  const own = fieldsOf(pid)
    .slice(11, 15)
    .reduce((sum, ticks) => sum + ticks, 0)
  return childrenOf(pid).reduce((sum, child) => sum + ticksOrNone(child), own)
}

/** A child may end while it is looked at; its parent has its time then. */
function ticksOrNone(pid: number): number {
  try {
    return ticksOf(pid)
  } catch {
    return 0
  }
}

/** Milliseconds of these processes and all their descendants. */
export const processorMs = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + (ticksOf(pid) * 1000) / TICKS_PER_SECOND, 0)
