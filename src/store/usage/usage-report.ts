/** The usage of all buckets, and of the accounts that own them. */
import { keySuccessor } from '../../lib/bytes.ts'
import type { Meta } from '../../meta/meta.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { noUsage, USAGE_FIELDS, type Usage, type UsageDelta } from '../../model/usage.ts'
import { keyRanges } from '../commit/record-keys.ts'
import { usageOfAll } from './usage.ts'

const PAGE = 1000

export interface BucketUsage {
  readonly bucket: Pick<Bucket, 'name' | 'id' | 'owner'>
  /** Undefined until the bucket has been counted. */
  readonly usage: Usage | undefined
}

interface AccountUsage {
  readonly accountId: string
  readonly buckets: number
  /** Buckets whose usage is not known yet. */
  readonly uncounted: number
  readonly usage: Usage
}

/** In name order; yields after every page. */
export async function bucketUsage(meta: Meta): Promise<BucketUsage[]> {
  const usages = await usageOfAll(meta)
  const out: BucketUsage[] = []
  const { end } = keyRanges.buckets()
  for (let { start } = keyRanges.buckets(); ; ) {
    const page = await meta.scan({ start, end }, PAGE)
    for (const { value } of page) {
      const { name, id, owner } = bucketFormat.decode(value)
      out.push({ bucket: { name, id, owner }, usage: usages.get(id) })
    }
    if (page.length < PAGE) return out
    start = keySuccessor(page.at(-1)!.key)
    await new Promise(resolve => setImmediate(resolve))
  }
}

interface AccountTotal {
  buckets: number
  uncounted: number
  readonly usage: UsageDelta
}

/** Usage by the account that owns the bucket, regardless of who stored the objects; in account order. */
export async function accountUsage(
  buckets: readonly BucketUsage[],
  accountOf: (owner: string) => Promise<string>,
): Promise<AccountUsage[]> {
  const byAccount = new Map<string, AccountTotal>()
  for (const { bucket, usage } of buckets) {
    const accountId = await accountOf(bucket.owner)
    const account = byAccount.get(accountId) ?? { buckets: 0, uncounted: 0, usage: noUsage() }
    byAccount.set(accountId, account)
    account.buckets++
    if (usage === undefined) account.uncounted++
    else for (const field of USAGE_FIELDS) account.usage[field] += usage[field]
  }
  return [...byAccount].map(([accountId, rest]) => ({ accountId, ...rest })).sort((a, b) => byAccountId(a, b))
}

const byAccountId = (a: AccountUsage, b: AccountUsage): number =>
  a.accountId < b.accountId ? -1 : a.accountId > b.accountId ? 1 : 0
