/** The versions of a key, a page at a time as they are scrolled to. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type VersionMark, versionPageOfKey } from '../objects/listing.ts'
import { PagedList } from '../objects/paged-list.ts'

export function useVersions(bucket: string, key: string) {
  const query = useInfiniteQuery({
    queryKey: ['versions', bucket, key],
    queryFn: ({ pageParam, signal }) => versionPageOfKey(bucket, key, { after: pageParam, signal }),
    initialPageParam: undefined as VersionMark | undefined,
    getNextPageParam: page => page.next,
    // Comparing every version with the one before costs more than drawing the few that are in view.
    structuralSharing: false,
  })
  const versions = useMemo(() => new PagedList(query.data?.pages.map(page => page.versions) ?? []), [query.data])
  return { ...query, versions }
}

export type Versions = ReturnType<typeof useVersions>
