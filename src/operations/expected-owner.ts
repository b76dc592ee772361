import { Fault } from '../model/faults.ts'
import type { OperationScope } from './context.ts'

const ACCOUNT_ID = /^\d{12}$/

/** R7, D19. A bucket is whose the caller says it is, or nothing happens. */
export function checkExpectedOwner(
  expected: string | undefined,
  owner: string,
  { accounts, behavior: ways }: Pick<OperationScope, 'accounts' | 'behavior'>,
): void {
  if (expected === undefined) return
  if (!ACCOUNT_ID.test(expected)) throw new Fault(ways.noAccountId)
  if (accounts.byCanonicalId(owner)?.accountId !== expected) throw new Fault('AccessDenied')
}
