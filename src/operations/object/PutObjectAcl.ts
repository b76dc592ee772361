import { Fault } from '../../model/faults.ts'
import { type Canned, effectiveAcl, OBJECT_CANNED } from '../../rules/access/acl.ts'
import { checkAclHeaders, requestedList } from '../acl.ts'
import { needsVersion, operation } from '../operation.ts'
import { refuseDeleteMarker } from './refuse-delete-marker.ts'
import { versionIdHeader } from './version-id-header.ts'

const WITH_EXEC_READ: readonly Canned[] = [...OBJECT_CANNED, 'exec-read']

/** R101. The list alone changes: not the bytes, their tag, the date or the lock. */
export const PutObjectAcl = operation({
  name: 'PutObjectAcl',
  match: { method: 'PUT', on: 'object', needs: ['?acl'] },
  permission: needsVersion('PutObjectAcl', 'PutObjectVersionAcl'),
  input: {},
  async run(ctx) {
    const allowed = ctx.behavior.execReadEverywhere ? WITH_EXEC_READ : OBJECT_CANNED
    checkAclHeaders(ctx, allowed)
    const { owner, attributes } = await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    const { owner: bucketOwner, ownership = 'ObjectWriter' } = ctx.bucket
    const shown = effectiveAcl({ ownerCanonicalId: owner, grants: attributes.grants }, ownership, bucketOwner)
    const standing = { owner: shown.ownerCanonicalId, bucketOwner, grants: shown.grants }
    const grants = await requestedList(ctx, allowed, standing)
    const version = await refuseDeleteMarker(() =>
      ctx.store.objects.setGrants(ctx.target, now => {
        // Somebody else's object has taken the place: what was asked and permitted was about the other one.
        if (now.owner !== owner) throw new Fault('OperationAborted')
        // Where lists do not count nothing is asked for that is not so already, and what is stored waits untouched.
        return ownership === 'BucketOwnerEnforced' ? now.attributes.grants : grants
      }),
    )
    return { headers: [versionIdHeader(ctx, version)] }
  },
})
