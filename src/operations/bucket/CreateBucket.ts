/** G15. Creates a bucket, with the configuration in its headers and body. */
import { child, childText, onlyChildren, rootNamed, type XmlNode } from '../../lib/xml.ts'
import { Fault, notImplemented } from '../../model/faults.ts'
import type { Pairs } from '../../model/version.ts'
import { BUCKET_CANNED, expandCanned } from '../../rules/access/acl.ts'
import {
  type ConditionValues,
  conditionsFromBucketTags,
  KEYS_FROM_BUCKET_TAGS,
} from '../../rules/access/condition-values.ts'
import { GRANT_HEADERS } from '../../rules/access/grant-headers.ts'
import { OWNERSHIPS } from '../../rules/documents/settings.ts'
import { documentText } from '../../rules/documents/tree.ts'
import { isRegionName } from '../../rules/naming.ts'
import { readTagSet, tagDocument } from '../../rules/tags.ts'
import { checkListFitsOwnership, grantsFromHeaders } from '../acl.ts'
import type { OperationContext, RequestView } from '../context.ts'
import { invalidArgument, maybe, operation, type RequiredPermission } from '../operation.ts'
import { readXml, wholeBody } from '../whole-body.ts'

const BUCKETS_PER_ACCOUNT_MAX = 10_000

/** Configuring the new bucket by headers requires further permissions. */
function createNeeds(request: RequestView): RequiredPermission[] {
  const out: RequiredPermission[] = [{ action: 'CreateBucket' }]
  const lists = ['acl', ...GRANT_HEADERS.keys()]
  if (lists.some(name => request.header(`:${name}`) !== undefined)) out.push({ action: 'PutBucketAcl' })
  if (request.header(':object-ownership') !== undefined) out.push({ action: 'PutBucketOwnershipControls' })
  if (request.header(':bucket-object-lock-enabled')?.toLowerCase() === 'true') {
    out.push({ action: 'PutBucketObjectLockConfiguration' }, { action: 'PutBucketVersioning' })
  }
  return out
}

interface Configuration {
  readonly conditions: ConditionValues
  readonly tags: Pairs
}

/** D28. The body must name the configured region; without one, any is accepted. Tags apply from creation on. */
function readConfiguration(
  root: XmlNode,
  { region, anyRegion }: Pick<OperationContext, 'region' | 'anyRegion'>,
): Configuration {
  onlyChildren(rootNamed(root, 'CreateBucketConfiguration'), 'LocationConstraint', 'Location', 'Bucket', 'Tags')
  const other = root.children.find(({ name }) => name === 'Location' || name === 'Bucket')
  if (other !== undefined) throw notImplemented('element', other.name)
  const location = childText(root, 'LocationConstraint')?.trim() ?? ''
  if (location !== '' && location !== region && !(anyRegion && isRegionName(location))) {
    throw new Fault('InvalidLocationConstraint', { LocationConstraint: location })
  }
  const set = child(root, 'Tags')
  const tags = set === undefined ? [] : readTagSet(set, 'bucket')
  const place: ConditionValues = location === '' ? [] : [['locationconstraint', [location]]]
  return { conditions: [...place, ...conditionsFromBucketTags(tags)], tags }
}

async function configurationOf(ctx: OperationContext): Promise<Configuration> {
  const body = await wholeBody(ctx, { proof: 'none' })
  if (body.length === 0) return { conditions: [], tags: [] }
  const configuration = readXml(body, root => readConfiguration(root, ctx))
  if (configuration.tags.length > 0 && !(await ctx.isAllowed('PutBucketTagging', undefined, configuration.conditions)))
    throw new Fault('AccessDenied')
  return configuration
}

const lockEnabled = maybe.header(':bucket-object-lock-enabled', (value, name) => {
  const word = value.toLowerCase()
  if (word !== 'true' && word !== 'false') throw invalidArgument(name, value)
  return word === 'true'
})

const ownership = maybe.header(':object-ownership', (value, name) => {
  const found = OWNERSHIPS.find(word => word === value)
  if (found === undefined) throw invalidArgument(name, value, `Invalid ${name} header`)
  return found
})

async function checkRoom(ctx: OperationContext): Promise<void> {
  const all = { owner: ctx.callerId, prefix: '', after: undefined, limit: BUCKETS_PER_ACCOUNT_MAX }
  if ((await ctx.store.buckets.page(all)).buckets.length >= BUCKETS_PER_ACCOUNT_MAX) throw new Fault('TooManyBuckets')
}

export const CreateBucket = operation({
  name: 'CreateBucket',
  match: { method: 'PUT', on: 'bucket' },
  permission: createNeeds,
  withoutBucket: true,
  deferredKeys: ['locationconstraint', ...KEYS_FROM_BUCKET_TAGS],
  input: { lockEnabled, ownership },
  async run(ctx, { lockEnabled = false, ownership }) {
    if (ctx.caller.kind === 'anonymous') throw new Fault('AccessDenied')
    const name = ctx.target.bucket
    const owner = ctx.callerId
    const grants = grantsFromHeaders(ctx, BUCKET_CANNED, { owner, bucketOwner: owner })
    const { conditions, tags } = await configurationOf(ctx)
    await ctx.authorizeDeferred(conditions)
    const list = grants ?? expandCanned('private', { owner, bucketOwner: owner })
    checkListFitsOwnership(list, owner, ownership)
    await checkRoom(ctx)
    try {
      const documents = tags.length === 0 ? [] : [['tagging', documentText(tagDocument(tags))] as const]
      await ctx.store.buckets.create({ name, owner, lockEnabled, grants: list, ownership, documents })
    } catch (error) {
      const again = error instanceof Fault && error.code === 'BucketAlreadyOwnedByYou' && ctx.behavior.recreateOwnBucket
      if (!again) throw error
    }
    return { headers: [['location', `/${name}`]] }
  },
})
