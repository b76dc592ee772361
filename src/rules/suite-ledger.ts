import { LedgerCheck, type LedgerExpectation, type LedgerVerdict } from './ledger.ts'

/** Verifies all lines of an exported ledger. */
export function verifyLedger(lines: Iterable<string>, expected: LedgerExpectation = {}): LedgerVerdict {
  const check = new LedgerCheck(expected)
  for (const line of lines) check.take(line)
  return check.end()
}
