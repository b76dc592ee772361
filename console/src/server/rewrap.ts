/** Rewraps stored keys step by step. It goes on while other pages are shown. */
import { useSyncExternalStore } from 'react'
import { call, sessionToken } from '../api/client.ts'

interface Rewrap {
  readonly state: 'idle' | 'running' | 'done' | 'stopped' | 'failed'
  readonly looked: number
  readonly rewrapped: number
  readonly left: number
  readonly error?: unknown
}

const IDLE: Rewrap = { state: 'idle', looked: 0, rewrapped: 0, left: 0 }

let rewrap = IDLE
/** The session of the person who started it. Nobody else goes on with it or sees it. */
let token: string | undefined
/** Changes when a run is started or stopped, so that one that was stopped says no more. */
let run = 0
const listeners = new Set<() => void>()

function change(changed: Rewrap): void {
  rewrap = changed
  for (const listener of listeners) listener()
}

const isCurrent = (own: number): boolean => own === run && token === sessionToken.get()

/** One pass over the store. Returns how many records it has rewrapped. */
async function pass(own: number): Promise<number> {
  const before = rewrap.rewrapped
  change({ ...rewrap, looked: 0, left: 0 })
  for (let from: string | undefined; ; ) {
    const { looked, rewrapped, left, next } = await call('RewrapEncryption', from === undefined ? {} : { from })
    if (!isCurrent(own)) return 0
    change({
      ...rewrap,
      looked: rewrap.looked + looked,
      rewrapped: rewrap.rewrapped + rewrapped,
      left: rewrap.left + left,
    })
    from = next
    if (from === undefined) return rewrap.rewrapped - before
  }
}

export async function startRewrap(): Promise<void> {
  run += 1
  token = sessionToken.get()
  change({ ...IDLE, state: 'running' })
  const own = run
  try {
    // A pass can miss records that moved, or that a request begun before the rotation wrote.
    while ((await pass(own)) > 0);
    if (isCurrent(own)) change({ ...rewrap, state: 'done' })
  } catch (error) {
    if (isCurrent(own)) change({ ...rewrap, state: 'failed', error })
  }
}

export function stopRewrap(): void {
  run += 1
  change({ ...rewrap, state: 'stopped' })
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useRewrap = (): Rewrap =>
  useSyncExternalStore(subscribe, () => (token === sessionToken.get() ? rewrap : IDLE))
