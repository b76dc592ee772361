/** Searches a ledger from its newest entry to its oldest. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { type EntryFilter, entryOf, matches } from './entry.ts'
import { type LedgerVisit, ledgerPage, PAGE } from './pages.ts'

interface SearchState {
  /** Sequence numbers, newest first. */
  readonly found: readonly number[]
  readonly read: number
  readonly error: unknown
}

const NOTHING: SearchState = { found: [], read: 0, error: undefined }

export const isFiltering = ({ text, kind }: EntryFilter): boolean => text.trim() !== '' || kind !== undefined

export function useSearch({ bucket, visit }: LedgerVisit, { text, kind }: EntryFilter, total: number): SearchState {
  const queries = useQueryClient()
  const [state, setState] = useState(NOTHING)
  useEffect(() => {
    let isCurrent = isFiltering({ text, kind })
    const search = async (): Promise<void> => {
      const found: number[] = []
      let read = 0
      setState(NOTHING)
      for (let index = Math.ceil(total / PAGE) - 1; index >= 0 && isCurrent; index--) {
        const page = await queries.fetchQuery(ledgerPage({ bucket, visit }, index))
        if (!isCurrent) return
        for (const line of page.lines.toReversed()) {
          const entry = entryOf(line)
          if (entry !== undefined && entry.sequence <= total && matches(entry, { text, kind }))
            found.push(entry.sequence)
        }
        read += Math.min(page.lines.length, total - index * PAGE)
        setState({ found: [...found], read, error: undefined })
      }
    }
    search().catch((error: unknown) => isCurrent && setState({ ...NOTHING, error }))
    return () => {
      isCurrent = false
    }
  }, [queries, bucket, visit, text, kind, total])
  return state
}
