import { Fault } from '../../model/faults.ts'
import { type Canned, effectiveAcl, OBJECT_CANNED } from '../../rules/access/acl.ts'
import { checkAclHeaders, listDocument, requestedGrants } from '../acl.ts'
import { operation, requiresForVersion } from '../operation.ts'
import { versionIdHeader } from './attributes.ts'
import { refuseDeleteMarker } from './refuse-delete-marker.ts'

export const GetObjectAcl = operation({
  name: 'GetObjectAcl',
  match: { method: 'GET', on: 'object', requires: ['?acl'] },
  permission: requiresForVersion('GetObjectAcl', 'GetObjectVersionAcl'),
  input: {},
  async run(ctx) {
    const version = await ctx.store.objects.head(ctx.target)
    const { owner, ownership = 'ObjectWriter' } = ctx.bucket
    const listed = { ownerCanonicalId: version.owner, grants: version.attributes.grants }
    const shown = effectiveAcl(listed, ownership, owner)
    return { headers: [versionIdHeader(ctx, version)], body: listDocument(ctx, shown.ownerCanonicalId, shown.grants) }
  },
})

const WITH_EXEC_READ: readonly Canned[] = [...OBJECT_CANNED, 'exec-read']

/** R101. Only the ACL changes: not the bytes, ETag, date or lock. */
export const PutObjectAcl = operation({
  name: 'PutObjectAcl',
  match: { method: 'PUT', on: 'object', requires: ['?acl'] },
  permission: requiresForVersion('PutObjectAcl', 'PutObjectVersionAcl'),
  input: {},
  async run(ctx) {
    const allowed = ctx.behavior.execReadEverywhere ? WITH_EXEC_READ : OBJECT_CANNED
    checkAclHeaders(ctx, allowed)
    const { owner, attributes } = await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    const { owner: bucketOwner, ownership = 'ObjectWriter' } = ctx.bucket
    const shown = effectiveAcl({ ownerCanonicalId: owner, grants: attributes.grants }, ownership, bucketOwner)
    const standing = { owner: shown.ownerCanonicalId, bucketOwner, grants: shown.grants }
    const grants = await requestedGrants(ctx, allowed, standing)
    const version = await refuseDeleteMarker(() =>
      ctx.store.objects.setGrants(ctx.target, now => {
        // The object was replaced by another owner's: the request was authorized for the old one.
        if (now.owner !== owner) throw new Fault('OperationAborted')
        // With ACLs disabled the request can only ask for what already holds; the stored ACL stays as it is.
        return ownership === 'BucketOwnerEnforced' ? now.attributes.grants : grants
      }),
    )
    return { headers: [versionIdHeader(ctx, version)] }
  },
})
