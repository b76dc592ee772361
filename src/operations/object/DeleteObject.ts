import { maybe, operation, requiresForVersion, versionId, writePrecondition } from '../operation.ts'
import { versionIdHeader } from './attributes.ts'
import { checkBypassApplies, ifModifiedAt, ifSize, removeOne, wantsBypass } from './removal.ts'

const MODIFIED_AT = ':if-match-last-modified-time'
const SIZE = ':if-match-size'

export const DeleteObject = operation({
  name: 'DeleteObject',
  match: { method: 'DELETE', on: 'object' },
  permission: requiresForVersion('DeleteObject', 'DeleteObjectVersion'),
  input: {
    versionId,
    precondition: writePrecondition,
    ifModifiedAt: maybe.header(MODIFIED_AT, ifModifiedAt),
    ifSize: maybe.header(SIZE, ifSize),
  },
  evaluates: [MODIFIED_AT, SIZE],
  async run(ctx, { versionId, ifModifiedAt, ifSize, ...input }) {
    const precondition = { ...input.precondition, ifModifiedAt, ifSize }
    checkBypassApplies(ctx)
    const bypass = wantsBypass(ctx) && (await ctx.isAllowed('BypassGovernanceRetention'))
    const { marker, removed } = await removeOne(ctx, { name: ctx.target, precondition, bypass })
    const isMarker = marker !== undefined || removed?.marker === true
    const named = versionId === undefined ? undefined : { id: versionId }
    return {
      status: 204,
      headers: [[':delete-marker', isMarker ? 'true' : undefined], versionIdHeader(ctx, marker ?? named)],
    }
  },
})
