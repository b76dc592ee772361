/** The buckets that the caller may see, page by page. */
import { useInfiniteQuery, useQueries, useQuery } from '@tanstack/react-query'
import type { AdminApi } from './admin-api.ts'
import { call } from './client.ts'

export type Bucket = AdminApi['ListBuckets']['output']['buckets'][number]

export const BUCKETS_KEY = ['buckets'] as const
const PAGE = 500

export function useBuckets() {
  const query = useInfiniteQuery({
    queryKey: BUCKETS_KEY,
    queryFn: ({ pageParam, signal }) => call('ListBuckets', { limit: PAGE, after: pageParam }, { signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next,
  })
  return { ...query, buckets: query.data?.pages.flatMap(page => page.buckets) ?? [] }
}

const FOUND_MAX = 20

/** Buckets whose names contain one of the words, also those that no page was loaded of. */
export function useFoundBuckets(words: readonly string[]): { readonly found: Bucket[]; readonly isPending: boolean } {
  return useQueries({
    queries: words.map(contains => ({
      queryKey: [...BUCKETS_KEY, 'found', contains],
      queryFn: ({ signal }: { signal: AbortSignal }) => call('ListBuckets', { contains, limit: FOUND_MAX }, { signal }),
    })),
    combine: lists => ({
      found: lists.flatMap(({ data }) => data?.buckets ?? []),
      isPending: lists.some(({ isLoading }) => isLoading),
    }),
  })
}

/** Null when there is no such bucket, or none that the caller may list. */
export function useBucket(name: string) {
  return useQuery({
    queryKey: [...BUCKETS_KEY, 'one', name],
    queryFn: async ({ signal }) => (await call('ListBuckets', { name }, { signal })).buckets[0] ?? null,
  })
}

/** Settings that the caller may not read are left out by the server. */
export const isPublic = ({ public: open }: Bucket): boolean => open !== undefined && (open.policy || open.acl)
