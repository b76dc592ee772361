/** Reads the next page of a list when its last rows come into view, and while pages are empty. */
import { useEffect } from 'react'

export interface PagesAhead {
  readonly hasNextPage: boolean
  readonly isFetchingNextPage: boolean
  readonly fetchNextPage: () => unknown
}

const NOTHING_AHEAD: PagesAhead = { hasNextPage: false, isFetchingNextPage: false, fetchNextPage: () => {} }

export function useReadOn(pages: PagesAhead = NOTHING_AHEAD, isNearEnd: boolean): void {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = pages
  useEffect(() => {
    if (isNearEnd && hasNextPage && !isFetchingNextPage) void fetchNextPage()
  }, [isNearEnd, hasNextPage, isFetchingNextPage, fetchNextPage])
}
