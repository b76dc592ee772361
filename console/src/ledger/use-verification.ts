/** Runs the verification of a ledger and tells how far it is. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { type LedgerVisit, ledgerPages } from './pages.ts'
import { type LedgerExpectation, type LedgerVerdict, LedgerVerification } from './verification.ts'

type VerificationState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'running'; readonly done: number; readonly all: number }
  | { readonly kind: 'done'; readonly verdict: LedgerVerdict }
  | { readonly kind: 'failed'; readonly error: unknown }

export interface VerificationRun {
  readonly state: VerificationState
  start(expected: Omit<LedgerExpectation, 'bucket'>): void
  stop(): void
}

export function useVerification(visit: LedgerVisit): VerificationRun {
  const queries = useQueryClient()
  const [state, setState] = useState<VerificationState>({ kind: 'idle' })
  /** A run that is no longer the latest one tells nothing more. */
  const latest = useRef(0)
  useEffect(() => {
    const runs = latest
    return () => {
      runs.current++
    }
  }, [])
  const start = async (expected: Omit<LedgerExpectation, 'bucket'>): Promise<void> => {
    const run = ++latest.current
    const tell = (next: VerificationState): void => {
      if (run === latest.current) setState(next)
    }
    const check = new LedgerVerification({ ...expected, bucket: visit.bucket })
    let closing: string | undefined
    try {
      tell({ kind: 'running', done: 0, all: 0 })
      for await (const page of ledgerPages(queries, visit)) {
        if (run !== latest.current) return
        if (closing === undefined) await check.begin(page.header)
        closing = page.closing
        await check.take(page.lines)
        tell({ kind: 'running', done: check.entries, all: page.entries })
        if (check.problem !== undefined) break
      }
      tell({ kind: 'done', verdict: await check.end(closing) })
    } catch (error) {
      tell({ kind: 'failed', error })
    }
  }
  const stop = (): void => {
    latest.current++
    setState({ kind: 'idle' })
  }
  return { state, start: expected => void start(expected), stop }
}
