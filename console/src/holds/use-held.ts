/** The held and retained versions below a prefix, a page at a time as they are scrolled to. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type HeldPage, heldPage } from './held.ts'

export function useHeld(bucket: string, prefix: string) {
  const query = useInfiniteQuery({
    queryKey: ['held', bucket, prefix],
    queryFn: ({ pageParam, signal }): Promise<HeldPage> => heldPage({ bucket, prefix, signal }, pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next,
    staleTime: 0,
  })
  const versions = useMemo(() => query.data?.pages.flatMap(page => page.versions) ?? [], [query.data])
  return { ...query, versions }
}

export type HeldListing = ReturnType<typeof useHeld>
