import { Fault } from '../model/faults.ts'
import type { Context } from './context.ts'

const ACCOUNT_ID = /^\d{12}$/

/** R7, D19. A bucket is whose the caller says it is, or nothing happens. */
export function checkExpectedOwner(
  expected: string | undefined,
  owner: string,
  { accounts, ways }: Pick<Context, 'accounts' | 'ways'>,
): void {
  if (expected === undefined) return
  if (!ACCOUNT_ID.test(expected)) throw new Fault(ways.noAccountId)
  if (accounts.byCanonicalId(owner)?.accountId !== expected) throw new Fault('AccessDenied')
}
