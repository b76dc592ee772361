/** Whether a bucket has Object Lock. */
import { useQuery } from '@tanstack/react-query'
import { call } from '../api/client.ts'
import { BUCKETS_KEY } from '../api/use-buckets.ts'

/** A caller who may not read the setting learns from the object API whether a lock is possible. */
export function useLockState(name: string): { readonly isOff: boolean; readonly isPending: boolean } {
  const { data, isPending } = useQuery({
    queryKey: [...BUCKETS_KEY, 'one', name],
    queryFn: async ({ signal }) => (await call('ListBuckets', { name }, { signal })).buckets[0] ?? null,
  })
  return { isOff: data?.lockEnabled === false, isPending }
}
