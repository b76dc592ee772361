/** G13. Reads, replaces and removes the tags of an object. A lock does not protect them (R40). */
import { conditionsFromTags, KEYS_FROM_TAGS } from '../../rules/access/condition-values.ts'
import { readTagDocument, tagDocument } from '../../rules/tags.ts'
import { checkIntegrityHeaders } from '../integrity.ts'
import { operation, requiresForVersion } from '../operation.ts'
import { readXml, wholeBody } from '../whole-body.ts'
import { versionIdHeader } from './attributes.ts'
import { refuseDeleteMarker } from './refuse-delete-marker.ts'

export const GetObjectTagging = operation({
  name: 'GetObjectTagging',
  match: { method: 'GET', on: 'object', requires: ['?tagging'] },
  permission: requiresForVersion('GetObjectTagging', 'GetObjectVersionTagging'),
  input: {},
  async run(ctx) {
    const version = await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    return { headers: [versionIdHeader(ctx, version)], body: tagDocument(version.attributes.tags) }
  },
})

export const PutObjectTagging = operation({
  name: 'PutObjectTagging',
  match: { method: 'PUT', on: 'object', requires: ['?tagging'] },
  permission: requiresForVersion('PutObjectTagging', 'PutObjectVersionTagging'),
  deferredKeys: KEYS_FROM_TAGS,
  input: {},
  async run(ctx) {
    checkIntegrityHeaders(ctx)
    await refuseDeleteMarker(() => ctx.store.objects.head(ctx.target))
    const tags = readXml(await wholeBody(ctx, { proof: 'none' }), root => readTagDocument(root, 'object'))
    await ctx.authorizeDeferred(conditionsFromTags(tags))
    const version = await refuseDeleteMarker(() => ctx.store.objects.setTags(ctx.target, tags))
    return { headers: [versionIdHeader(ctx, version)] }
  },
})

export const DeleteObjectTagging = operation({
  name: 'DeleteObjectTagging',
  match: { method: 'DELETE', on: 'object', requires: ['?tagging'] },
  permission: requiresForVersion('DeleteObjectTagging', 'DeleteObjectVersionTagging'),
  input: {},
  async run(ctx) {
    const version = await refuseDeleteMarker(() => ctx.store.objects.setTags(ctx.target, []))
    return { status: 204, headers: [versionIdHeader(ctx, version)] }
  },
})
