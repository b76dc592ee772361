import { effectiveAcl } from '../../rules/access/acl.ts'
import { listDocument } from '../acl.ts'
import { needsVersion, operation } from '../operation.ts'
import { versionIdHeader } from './version-id-header.ts'

export const GetObjectAcl = operation({
  name: 'GetObjectAcl',
  match: { method: 'GET', on: 'object', needs: ['?acl'] },
  permission: needsVersion('GetObjectAcl', 'GetObjectVersionAcl'),
  input: {},
  async run(ctx) {
    const version = await ctx.store.objects.head(ctx.target)
    const { owner, ownership = 'ObjectWriter' } = ctx.bucket
    const listed = { ownerCanonicalId: version.owner, grants: version.attributes.grants }
    const shown = effectiveAcl(listed, ownership, owner)
    return { headers: [versionIdHeader(ctx, version)], body: listDocument(ctx, shown.ownerCanonicalId, shown.grants) }
  },
})
