/** Changes a lock, then reads again everything that shows it. */
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { notify } from '../parts/notices.tsx'

/** Names of the queries whose results contain locks. */
const SHOWING_LOCKS = ['lock', 'object', 'held']

export function useRefreshLocks(bucket: string): () => Promise<unknown> {
  const queries = useQueryClient()
  return () => Promise.all(SHOWING_LOCKS.map(name => queries.invalidateQueries({ queryKey: [name, bucket] })))
}

/** `change` returns what to tell once it is done. */
export function useLockChange<T>(bucket: string, change: (input: T) => Promise<string>, close: () => void) {
  const refresh = useRefreshLocks(bucket)
  return useMutation({
    mutationFn: change,
    onSuccess: async text => {
      await refresh()
      notify(text)
      close()
    },
  })
}
