/**
 * Reads a ledger in pages. The same pages serve the list, the search, the verification and the export of one visit, so
 * that what was verified is what is shown.
 */
import type { QueryClient } from '@tanstack/react-query'
import type { AdminApi } from '../api/admin-api.ts'
import { call } from '../api/client.ts'

type EntryPage = AdminApi['ListLedgerEntries']['output']

export const PAGE = 500

export interface LedgerVisit {
  readonly bucket: string
  /** Reading the ledger again is another visit. */
  readonly visit: number
}

/** The page that has entries from `index * PAGE + 1` on. */
export const ledgerPage = ({ bucket, visit }: LedgerVisit, index: number) => ({
  queryKey: ['ledger', bucket, visit, index],
  queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<EntryPage> =>
    call('ListLedgerEntries', { bucket, limit: PAGE, ...(index === 0 ? {} : { after: index * PAGE }) }, { signal }),
  staleTime: Number.POSITIVE_INFINITY,
})

/** All pages in order. The closing line of the last one signs exactly the lines of all. */
export async function* ledgerPages(queries: QueryClient, visit: LedgerVisit): AsyncGenerator<EntryPage> {
  for (let index = 0; ; index++) {
    const page = await queries.fetchQuery(ledgerPage(visit, index))
    yield page
    const isLast = index * PAGE + page.lines.length >= page.entries
    // A page that is not full although more was promised would be read for ever.
    if (isLast || page.lines.length < PAGE) return
  }
}
