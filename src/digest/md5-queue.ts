import type timers from 'node:timers'
import type { Md5, Md5Lanes } from './md5-lanes.ts'

/** The next bytes of one MD5: the first `bytes` of a buffer. */
export interface Md5Bytes {
  readonly id: number
  readonly buffer: ArrayBuffer
  readonly bytes: number
  readonly isLast: boolean
  /** MD5s that have no result yet, this one included. */
  readonly open: number
}

export type Timers = Pick<typeof timers, 'setTimeout' | 'clearTimeout'>

interface Md5QueueParts<T extends Md5Bytes> {
  readonly lanes: Md5Lanes
  readonly timers: Timers
  /** The buffer has been read; with the digest if it was the last one. */
  reply(command: T, digest: Uint8Array | undefined): void
}

export interface Md5Queue<T extends Md5Bytes> {
  add(command: T): void
  drop(id: number): void
}

/**
 * Computes MD5s together. Several take little longer than one, so they wait for each other, but not for a client that
 * is slow, nor until no buffer can be filled. The function is sent to a thread as text, like `md5Lanes`.
 */
export function md5Queue<T extends Md5Bytes>({ lanes, timers, reply }: Md5QueueParts<T>): Md5Queue<T> {
  const LANES = 8
  /** There are more buffers than this, so that there are always some to be filled. */
  const QUEUED_MAX = 28
  const WAIT_MS = 5
  /** Those that have waited longest come first. */
  const md5s = new Map<number, { readonly md5: Md5; readonly queue: T[] }>()
  /** MD5s wait until so many have bytes. */
  let expected = 1
  let isScheduled = false
  let waiting: NodeJS.Timeout | undefined
  const queue = {
    add(command: T): void {
      const entry = md5s.get(command.id) ?? { md5: lanes.start(), queue: [] }
      entry.queue.push(command)
      md5s.set(command.id, entry)
      expected = Math.min(LANES, Math.max(expected, command.open))
      queue.schedule()
    },

    /** When it is time, all messages that have arrived are received first. */
    schedule(): void {
      const queued = [...md5s.values()].map(entry => entry.queue.length).filter(length => length > 0)
      const buffers = queued.reduce((sum, length) => sum + length, 0)
      if (isScheduled || buffers === 0) return
      isScheduled = queued.length >= expected || buffers >= QUEUED_MAX
      if (isScheduled) setImmediate(queue.compute)
      else waiting ??= timers.setTimeout(queue.compute, WAIT_MS)
    },

    compute(): void {
      // The time is up, and those that are left wait for no others.
      if (!isScheduled) expected = 1
      isScheduled = false
      timers.clearTimeout(waiting)
      waiting = undefined
      const group = [...md5s].filter(([, entry]) => entry.queue.length > 0).slice(0, LANES)
      const next = group.map(([, entry]) => ({ md5: entry.md5, ...entry.queue[0]! }))
      lanes.update(next.map(({ md5, buffer, bytes }) => ({ md5, bytes: new Uint8Array(buffer, 0, bytes) })))
      for (const [id, entry] of group) {
        const command = entry.queue.shift()!
        reply(command, command.isLast ? lanes.digest(entry.md5) : undefined)
        md5s.delete(id)
        if (!command.isLast) md5s.set(id, entry)
      }
      queue.schedule()
    },

    drop(id: number): void {
      for (const command of md5s.get(id)?.queue ?? []) reply(command, undefined)
      md5s.delete(id)
      queue.schedule()
    },
  }
  return queue
}
