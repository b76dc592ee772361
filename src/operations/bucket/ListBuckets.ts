import type { XmlWriter } from '../../lib/xml-writer.ts'
import { Fault } from '../../model/faults.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { asCount, asText, invalidArgument, maybe, operation, requires } from '../operation.ts'
import { pageToken } from './listings.ts'

const BUCKETS_PER_PAGE_MAX = 10_000

const maxBuckets = maybe.query('max-buckets', (value, name) => {
  const count = asCount(value, name)
  if (count < 1 || count > BUCKETS_PER_PAGE_MAX) throw invalidArgument(name, value)
  return count
})

export const ListBuckets = operation({
  name: 'ListBuckets',
  match: { method: 'GET', on: 'service' },
  permission: requires('ListAllMyBuckets'),
  input: {
    prefix: maybe.query('prefix', asText),
    limit: maxBuckets,
    after: maybe.query('continuation-token', pageToken.read),
    region: maybe.query('bucket-region', asText),
  },
  async run(ctx, { prefix, limit = BUCKETS_PER_PAGE_MAX, after, region }) {
    if (ctx.caller.kind === 'anonymous') throw new Fault('AccessDenied')
    const { account } = ctx.caller
    const isElsewhere = region !== undefined && region !== ctx.region
    const { buckets, more } = isElsewhere
      ? { buckets: [], more: false }
      : await ctx.store.buckets.page({ owner: account.canonicalId, prefix: prefix ?? '', after, limit })
    return {
      body: {
        root: 'ListAllMyBucketsResult',
        write(to: XmlWriter) {
          to.open('Owner')
          to.leaf('ID', account.canonicalId)
          to.leaf('DisplayName', account.displayName)
          to.close()
          to.open('Buckets')
          for (const bucket of buckets) {
            to.open('Bucket')
            to.leaf('Name', bucket.name)
            to.leaf('CreationDate', formatTimestamp(bucket.createdAt))
            to.leaf('BucketRegion', ctx.region)
            to.close()
          }
          to.close()
          to.leaf('ContinuationToken', more ? pageToken.write(buckets.at(-1)!.name) : undefined)
          to.leaf('Prefix', prefix)
        },
      },
    }
  },
})
