/** The entries of a folder, a page at a time as they are scrolled to. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type ListingPage, listDeleted, listObjects } from '../objects/listing.ts'

interface ListingPlace {
  readonly bucket: string
  readonly prefix: string
  readonly search: string
  readonly isDeleted: boolean
}

export function useListing({ bucket, prefix, search, isDeleted }: ListingPlace) {
  const list = isDeleted ? listDeleted : listObjects
  const query = useInfiniteQuery({
    queryKey: ['listing', bucket, prefix, search, isDeleted],
    queryFn: ({ pageParam, signal }): Promise<ListingPage> =>
      list({ bucket, prefix: prefix + search, after: pageParam, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: page => page.next,
  })
  const entries = useMemo(() => query.data?.pages.flatMap(page => page.entries) ?? [], [query.data])
  return { ...query, entries }
}

export type Listing = ReturnType<typeof useListing>
