/**
 * The time between the end of a session and the next sign-in. The page stays as it is behind a cover, and nothing is
 * sent: queries wait for the next session instead of failing, since a page that shows an error drops its forms.
 */
import { onlineManager } from '@tanstack/react-query'
import { useSyncExternalStore } from 'react'

// Being online means to have a session here. Without a network a local server still answers, and any other is reported.
onlineManager.setEventListener(() => undefined)

const subscribe = (listener: () => void): (() => void) => onlineManager.subscribe(listener)
const isOn = (): boolean => !onlineManager.isOnline()

/** Resolves as soon as there is a session, at once if there is one; fails as soon as the signal is aborted. */
function over(signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const check = (): void => {
      if (isOn() && !signal.aborted) return
      unsubscribe()
      signal.removeEventListener('abort', check)
      if (signal.aborted) reject(new DOMException('aborted', 'AbortError'))
      else resolve()
    }
    const unsubscribe = subscribe(check)
    signal.addEventListener('abort', check)
    check()
  })
}

export const suspension = {
  isOn,
  begin: (): void => onlineManager.setOnline(false),
  end: (): void => onlineManager.setOnline(true),
  over,
}

export const useSuspension = (): boolean => useSyncExternalStore(subscribe, isOn)
