/** Rewraps stored keys step by step. It goes on while other pages are shown. */
import { useSyncExternalStore } from 'react'
import { call } from '../api/client.ts'

interface Rewrap {
  readonly state: 'idle' | 'running' | 'done' | 'stopped' | 'failed'
  readonly looked: number
  readonly rewrapped: number
  readonly left: number
  readonly error?: unknown
}

let rewrap: Rewrap = { state: 'idle', looked: 0, rewrapped: 0, left: 0 }
const listeners = new Set<() => void>()

function change(changed: Partial<Rewrap>): void {
  rewrap = { ...rewrap, ...changed }
  for (const listener of listeners) listener()
}

const isRunning = (): boolean => rewrap.state === 'running'

/** One pass over the store. Returns how many records it has rewrapped. */
async function pass(): Promise<number> {
  const before = rewrap.rewrapped
  change({ looked: 0, left: 0 })
  for (let from: string | undefined; isRunning(); ) {
    const step = await call('RewrapEncryption', from === undefined ? {} : { from })
    change({
      looked: rewrap.looked + step.looked,
      rewrapped: rewrap.rewrapped + step.rewrapped,
      left: rewrap.left + step.left,
    })
    from = step.next
    if (from === undefined) break
  }
  return rewrap.rewrapped - before
}

export async function startRewrap(): Promise<void> {
  if (isRunning()) return
  change({ state: 'running', rewrapped: 0, error: undefined })
  try {
    // A pass can miss records that moved, or that a request begun before the rotation wrote.
    while (isRunning() && (await pass()) > 0);
    if (isRunning()) change({ state: 'done' })
  } catch (error) {
    change({ state: 'failed', error })
  }
}

export const stopRewrap = (): void => change({ state: 'stopped' })

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useRewrap = (): Rewrap => useSyncExternalStore(subscribe, () => rewrap)
