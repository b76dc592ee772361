import { Fault } from '../model/faults.ts'
import { type Canned, OBJECT_CANNED } from '../rules/access/acl.ts'
import { requestedList } from './acl.ts'
import { notOnMarker } from './on-marker.ts'
import { needsVersion, operation } from './operation.ts'
import { versionHeader } from './versioned.ts'

const WITH_EXEC_READ: readonly Canned[] = [...OBJECT_CANNED, 'exec-read']

/** R101. The list alone changes: not the bytes, their tag, the date or the lock. */
export const PutObjectAcl = operation({
  name: 'PutObjectAcl',
  match: { method: 'PUT', on: 'object', needs: ['?acl'] },
  permission: needsVersion('PutObjectAcl', 'PutObjectVersionAcl'),
  input: {},
  async run(ctx) {
    const { owner } = await notOnMarker(() => ctx.store.objects.head(ctx.target))
    const allowed = ctx.ways.execReadEverywhere ? WITH_EXEC_READ : OBJECT_CANNED
    const grants = await requestedList(ctx, allowed, { owner, bucketOwner: ctx.bucket.owner })
    const version = await notOnMarker(() =>
      ctx.store.objects.setGrants(ctx.target, now => {
        // Somebody else's object has taken the place: what was asked and permitted was about the other one.
        if (now.owner !== owner) throw new Fault('OperationAborted')
        return grants
      }),
    )
    return { headers: [versionHeader(ctx, version)] }
  },
})
