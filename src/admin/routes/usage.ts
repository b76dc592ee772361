/** The route of storage usage by account. */
import { USAGE_FIELDS, type Usage } from '../../model/usage.ts'
import { addUsage } from '../../store/usage/usage.ts'
import { accountUsage, bucketUsage } from '../../store/usage/usage-report.ts'
import { query, textField } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, listOf, objectOf, TEXT } from '../schemas.ts'

const COUNTERS = {
  buckets: COUNT,
  uncountedBuckets: COUNT,
  ...Object.fromEntries(USAGE_FIELDS.map(name => [name, COUNT])),
}

export const GetUsage = route({
  name: 'GetUsage',
  method: 'GET',
  path: '/v1/usage',
  summary: 'Get objects, versions and bytes of all buckets, and of each account that owns some',
  permission: 'admin',
  answer: objectOf({ ...COUNTERS, accounts: listOf(objectOf({ accountId: TEXT, ...COUNTERS })) }),
  input: { accountId: query(textField, 'Only of this account') },
  async run(ctx, { accountId }) {
    if (accountId !== undefined) await ctx.accounts.get(accountId)
    const accountOf = async (owner: string): Promise<string> => ctx.identities.byCanonicalId(owner)?.accountId ?? owner
    const accounts = await accountUsage(await bucketUsage(ctx.store.context.meta), accountOf)
    const wanted = accountId === undefined ? accounts : accounts.filter(account => account.accountId === accountId)
    const total = (of: 'buckets' | 'uncounted'): number => wanted.reduce((sum, account) => sum + account[of], 0)
    return {
      buckets: total('buckets'),
      uncountedBuckets: total('uncounted'),
      ...addUsage(wanted.map(({ usage }): Usage => usage)),
      accounts: wanted.map(({ uncounted, usage, ...account }) => ({
        ...account,
        uncountedBuckets: uncounted,
        ...usage,
      })),
    }
  },
})
