/** Reads something about the server again and again while a page shows it. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'

/** Routes without input. */
type Polled =
  | 'GetBackup'
  | 'GetBlobsMove'
  | 'GetClock'
  | 'GetCluster'
  | 'GetDamage'
  | 'GetEncryption'
  | 'GetScrub'
  | 'GetServer'
  | 'GetSettings'
  | 'GetUsage'
  | 'ListProcesses'

export const polledKey = (name: Polled) => ['server', name] as const

export function usePolled<N extends Polled>(name: N, everyMs: number | ((latest?: AdminApi[N]['output']) => number)) {
  const queries = useQueryClient()
  const queryKey = polledKey(name)
  return useQuery<AdminApi[N]['output']>({
    queryKey,
    queryFn: ({ signal }) => {
      // Only the first request is a person's.
      const isTimer = queries.getQueryData(queryKey) !== undefined
      return call(name, {} as AdminApi[N]['input'], { signal, isTimer })
    },
    refetchInterval: typeof everyMs === 'number' ? everyMs : query => everyMs(query.state.data),
  })
}
