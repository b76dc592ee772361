import { BUCKET_CANNED, effectiveAcl } from '../../rules/access/acl.ts'
import { listDocument, requestedGrants } from '../acl.ts'
import { operation, requires } from '../operation.ts'

export const GetBucketAcl = operation({
  name: 'GetBucketAcl',
  match: { method: 'GET', on: 'bucket', requires: ['?acl'] },
  permission: requires('GetBucketAcl'),
  input: {},
  async run(ctx) {
    const { owner, grants, ownership = 'ObjectWriter' } = ctx.bucket
    const shown = effectiveAcl({ ownerCanonicalId: owner, grants }, ownership, owner)
    return { body: listDocument(ctx, shown.ownerCanonicalId, shown.grants) }
  },
})

export const PutBucketAcl = operation({
  name: 'PutBucketAcl',
  match: { method: 'PUT', on: 'bucket', requires: ['?acl'] },
  permission: requires('PutBucketAcl'),
  input: {},
  async run(ctx) {
    const { name, owner } = ctx.bucket
    const standing = { owner, bucketOwner: owner, grants: ctx.bucket.grants }
    const grants = await requestedGrants(ctx, BUCKET_CANNED, standing)
    await ctx.store.buckets.configure(name, () => ({ grants }))
    return {}
  },
})
