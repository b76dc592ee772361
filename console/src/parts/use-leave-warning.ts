/** Leaving the page would end what this tab is doing, so the browser asks first. */
import { useEffect } from 'react'

export function useLeaveWarning(work: { readonly isBusy: boolean }): void {
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent): void => {
      if (work.isBusy) event.preventDefault()
    }
    window.addEventListener('beforeunload', warn)
    return () => window.removeEventListener('beforeunload', warn)
  }, [work])
}
