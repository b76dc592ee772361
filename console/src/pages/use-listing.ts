/** The entries of a folder, a page at a time as they are scrolled to. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type ListingPage, listDeleted, listObjects } from '../objects/listing.ts'
import { PagedList } from '../objects/paged-list.ts'

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
    // Comparing every entry with the one before costs more than drawing the few that are in view.
    structuralSharing: false,
  })
  const entries = useMemo(() => new PagedList(query.data?.pages.map(page => page.entries) ?? []), [query.data])
  return { ...query, entries }
}

export type Listing = ReturnType<typeof useListing>
