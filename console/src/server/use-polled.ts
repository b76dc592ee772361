/** Reads something about the server again and again while a page shows it. */
import { useQuery } from '@tanstack/react-query'
import { useRef } from 'react'
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
  | 'GetFsck'
  | 'GetScrub'
  | 'GetServer'
  | 'GetServerBackup'
  | 'GetSettings'
  | 'GetUsage'
  | 'ListAccounts'
  | 'ListProcesses'

export const polledKey = (name: Polled) => ['server', name] as const

export function usePolled<N extends Polled>(name: N, everyMs: number | ((latest?: AdminApi[N]['output']) => number)) {
  const isRepeated = useRef(false)
  return useQuery<AdminApi[N]['output']>({
    queryKey: polledKey(name),
    queryFn: ({ signal }) => {
      // The first request of a page is a person's, and keeps the session alive.
      const isTimer = isRepeated.current
      isRepeated.current = true
      return call(name, {} as AdminApi[N]['input'], { signal, isTimer })
    },
    refetchInterval: typeof everyMs === 'number' ? everyMs : query => everyMs(query.state.data),
  })
}
