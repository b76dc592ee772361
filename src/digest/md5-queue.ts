import type timers from 'node:timers'
import type { Md5, Md5Lanes } from './md5-lanes.ts'

/** The next bytes of one MD5: the first `bytes` of a buffer. */
export interface Md5Bytes {
  readonly id: number
  readonly buffer: ArrayBuffer
  readonly bytes: number
  readonly isLast: boolean
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
 * Computes MD5s together. Several take little longer than one, so they wait for each other: for 5 ms at most, and only
 * for those that have delivered something since they were last waited for in vain. The function is sent to a thread as
 * text, like `md5Lanes`.
 */
export function md5Queue<T extends Md5Bytes>({ lanes, timers, reply }: Md5QueueParts<T>): Md5Queue<T> {
  const LANES = 8
  /** There are more buffers than this, so that there are always some to be filled. */
  const QUEUED_MAX = 28
  const WAIT_MS = 5
  /** Those that have waited longest come first. */
  const md5s = new Map<number, { readonly md5: Md5; readonly queue: T[]; isAwaited: boolean }>()
  let isScheduled = false
  let waiting: NodeJS.Timeout | undefined
  const queue = {
    add(command: T): void {
      const entry = md5s.get(command.id) ?? { md5: lanes.start(), queue: [], isAwaited: true }
      entry.queue.push(command)
      entry.isAwaited = true
      md5s.set(command.id, entry)
      queue.schedule()
    },

    /** When it is time, all messages that have arrived are received first. */
    schedule(): void {
      if (isScheduled) return
      let awaited = 0
      let ready = 0
      let buffers = 0
      for (const entry of md5s.values()) {
        if (entry.isAwaited) awaited++
        if (entry.queue.length > 0) ready++
        buffers += entry.queue.length
      }
      if (ready === 0) return
      isScheduled = ready >= Math.min(LANES, awaited) || buffers >= QUEUED_MAX
      if (isScheduled) {
        timers.clearTimeout(waiting)
        waiting = undefined
        setImmediate(queue.compute)
      } else {
        waiting ??= timers.setTimeout(queue.expire, WAIT_MS)
      }
    },

    expire(): void {
      waiting = undefined
      for (const entry of md5s.values()) entry.isAwaited = entry.queue.length > 0
      queue.schedule()
    },

    compute(): void {
      isScheduled = false
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

    /** The others no longer wait for it. */
    drop(id: number): void {
      for (const command of md5s.get(id)?.queue ?? []) reply(command, undefined)
      md5s.delete(id)
      queue.schedule()
    },
  }
  return queue
}
