/** Reads an earlier export of a ledger, which must be whole itself before anything is compared with it. */
import { type LedgerHead, LedgerVerification } from './verification.ts'

/** Undefined when it is no whole export of this ledger. */
export async function earlierHead(bucket: string, text: string): Promise<LedgerHead | undefined> {
  const [header = '', ...lines] = text.replace(/\n$/, '').split('\n')
  const closing = lines.pop()
  const check = new LedgerVerification({ bucket })
  await check.begin(header)
  await check.take(lines)
  const { problem, entries, last } = await check.end(closing)
  return problem === undefined && last !== undefined ? { entries, last } : undefined
}
