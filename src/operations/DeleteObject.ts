import { versionId, writeCondition } from './inputs.ts'
import { needsVersion, operation } from './operation.ts'
import { checkBypassApplies, removeOne, wantsBypass } from './removal.ts'
import { versionHeader } from './versioned.ts'

export const DeleteObject = operation({
  name: 'DeleteObject',
  match: { method: 'DELETE', on: 'object' },
  permission: needsVersion('DeleteObject', 'DeleteObjectVersion'),
  input: { versionId, condition: writeCondition },
  async run(ctx, { versionId, condition }) {
    checkBypassApplies(ctx)
    const bypass = wantsBypass(ctx) && (await ctx.may('BypassGovernanceRetention'))
    const { marker, removed } = await removeOne(ctx, { name: ctx.target, condition, bypass })
    const isMarker = marker !== undefined || removed?.marker === true
    const named = versionId === undefined ? undefined : { id: versionId }
    return {
      status: 204,
      headers: [[':delete-marker', isMarker ? 'true' : undefined], versionHeader(ctx, marker ?? named)],
    }
  },
})
