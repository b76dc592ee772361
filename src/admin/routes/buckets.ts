/** Routes of buckets and their policies. */
import type { Bucket } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import { checkPolicyNotPublic, isPublicPolicy } from '../../rules/access/is-public.ts'
import { readBucketPolicy } from '../../rules/access/policy.ts'
import { bucketGlance, LISTED_BUCKET, usageShown } from '../bucket-glance.ts'
import {
  body,
  booleanField,
  enumField,
  optionalField,
  path,
  policyDocument,
  positiveInteger,
  query,
  textField,
} from '../input.ts'
import { requirePermission } from '../permitted.ts'
import { type AdminContext, route } from '../route.ts'
import { isoTime } from './accounts.ts'

const PAGE_MAX = 1000

function named(ctx: AdminContext, { name, createdAt, owner }: Bucket) {
  return { name, owner: ctx.identities.byCanonicalId(owner)?.accountId ?? owner, createdAt: isoTime(createdAt) }
}

function shown(ctx: AdminContext, bucket: Bucket) {
  const { versioning, lockEnabled, defaultRetention } = bucket
  return { ...named(ctx, bucket), versioning, lockEnabled, defaultRetention }
}

/** The canonical id of the account whose buckets are listed; undefined for all accounts. */
async function ownerToList(ctx: AdminContext, accountId: string | undefined): Promise<string | undefined> {
  const { account } = ctx.caller
  if (ctx.isAdministrator) return accountId === undefined ? undefined : (await ctx.accounts.get(accountId)).canonicalId
  if (accountId === undefined || accountId === account.accountId) return account.canonicalId
  throw new Fault('AccessDenied', { reason: 'Only an administrator may list the buckets of other accounts.' })
}

function shownWhole(ctx: AdminContext, bucket: Bucket) {
  const { id, ownership = 'ObjectWriter', publicAccessBlock, requesterPays, grants, documents } = bucket
  return { ...shown(ctx, bucket), id, ownership, publicAccessBlock, requesterPays, grants, documents }
}

const bucket = path('Name of the bucket')

export const ListBucketsRoute = route({
  name: 'ListBuckets',
  method: 'GET',
  path: '/v1/buckets',
  summary: 'List buckets with settings and usage, by name: of all accounts for administrators, else of the own one',
  permission: 'signed-in',
  input: {
    accountId: query(textField, 'Only the buckets of this account'),
    after: query(textField, 'Only names after this one'),
    limit: query(positiveInteger, `${PAGE_MAX} at most`),
    name: query(textField, 'Only the bucket of this name'),
    contains: query(textField, 'Only names that contain this text'),
  },
  answer: {
    type: 'object',
    required: ['buckets'],
    properties: { buckets: { type: 'array', items: LISTED_BUCKET }, next: { type: 'string' } },
  },
  async run(ctx, { accountId, after = '', limit = PAGE_MAX, name: only, contains = '' }) {
    await requirePermission(ctx, { action: 'ListAllMyBuckets' })
    const owner = await ownerToList(ctx, accountId)
    const listed = await ctx.store.buckets.list(owner)
    const isWanted = (name: string): boolean => (only === undefined || name === only) && name.includes(contains)
    const behind = listed.filter(({ name }) => name > after && isWanted(name))
    const page = behind.slice(0, Math.min(limit, PAGE_MAX))
    const next = behind.length > page.length ? page.at(-1)?.name : undefined
    const glances = await Promise.all(page.map(one => bucketGlance(ctx, one)))
    return { buckets: page.map((one, i) => ({ ...named(ctx, one), ...glances[i] })), next }
  },
})

export const CreateBucketRoute = route({
  name: 'CreateBucket',
  method: 'POST',
  path: '/v1/buckets',
  summary: 'Create a bucket for an account',
  permission: 'admin',
  status: 201,
  input: {
    name: body(textField, 'Its name'),
    accountId: optionalField(textField, "The owner; the caller's account when absent"),
    lock: optionalField(booleanField, 'Enables object lock and versioning'),
    versioning: optionalField(booleanField, 'Enables versioning'),
  },
  async run(ctx, { name, accountId = ctx.caller.account.accountId, lock = false, versioning = false }) {
    const { canonicalId } = await ctx.accounts.get(accountId)
    await ctx.store.buckets.create({ name, owner: canonicalId, lockEnabled: lock })
    if (versioning && !lock) await ctx.store.buckets.setVersioning(name, 'on')
    return shownWhole(ctx, await ctx.store.buckets.get(name))
  },
})

export const GetBucket = route({
  name: 'GetBucket',
  method: 'GET',
  path: '/v1/buckets/{bucket}',
  summary: 'Get the settings and usage of a bucket',
  permission: 'admin',
  input: { bucket },
  async run(ctx, input) {
    const found = await ctx.store.buckets.get(input.bucket)
    return { ...shownWhole(ctx, found), ...(await usageShown(ctx, found)) }
  },
})

export const DeleteBucketRoute = route({
  name: 'DeleteBucket',
  method: 'DELETE',
  path: '/v1/buckets/{bucket}',
  summary: 'Delete an empty bucket',
  permission: 'admin',
  status: 204,
  input: { bucket },
  run: (ctx, input) => ctx.store.buckets.remove(input.bucket),
})

export const SetVersioning = route({
  name: 'SetVersioning',
  method: 'PUT',
  path: '/v1/buckets/{bucket}/versioning',
  summary: 'Enable or suspend versioning',
  permission: 'admin',
  input: { bucket, versioning: body(enumField('on', 'suspended'), 'The new state') },
  async run(ctx, input) {
    await ctx.store.buckets.setVersioning(input.bucket, input.versioning)
    return shown(ctx, await ctx.store.buckets.get(input.bucket))
  },
})

export const SetLock = route({
  name: 'SetLock',
  method: 'PUT',
  path: '/v1/buckets/{bucket}/lock',
  summary: 'Enable object lock, permanently, and set the default retention; none without mode and days',
  permission: 'admin',
  input: {
    bucket,
    mode: optionalField(enumField('governance', 'compliance'), 'Mode of the default retention'),
    days: optionalField(positiveInteger, 'Days of the default retention'),
  },
  async run(ctx, { bucket: name, mode, days }) {
    if ((mode === undefined) !== (days === undefined)) {
      throw new Fault('InvalidArgument', { reason: 'mode and days must be given together' })
    }
    checkDays(days)
    await ctx.store.buckets.setLock(name, mode === undefined ? undefined : { mode, days: days! })
    return shown(ctx, await ctx.store.buckets.get(name))
  },
})

const DAYS_MAX = 36_500

function checkDays(days: number | undefined): void {
  if (days !== undefined && days > DAYS_MAX) throw new Fault('InvalidRetentionPeriod')
}

export const GetPolicy = route({
  name: 'GetPolicy',
  method: 'GET',
  path: '/v1/buckets/{bucket}/policy',
  summary: 'Get the policy of a bucket as it was set, and whether it is public',
  permission: 'admin',
  input: { bucket },
  async run(ctx, input) {
    await ctx.store.buckets.get(input.bucket)
    const document = await ctx.store.documents.get(input.bucket, 'policy')
    if (document === undefined) throw new Fault('NoSuchBucketPolicy', { BucketName: input.bucket })
    return { document, public: isPublicPolicy(readBucketPolicy(document, input.bucket)) }
  },
})

export const PutPolicy = route({
  name: 'PutPolicy',
  method: 'PUT',
  path: '/v1/buckets/{bucket}/policy',
  summary: 'Set the policy of a bucket',
  permission: 'admin',
  status: 204,
  input: { bucket, document: body(policyDocument, 'The policy') },
  async run(ctx, { bucket: name, document }) {
    const { publicAccessBlock } = await ctx.store.buckets.get(name)
    const policy = readBucketPolicy(document, name)
    checkPolicyNotPublic(policy, publicAccessBlock?.blockPublicPolicy === true)
    await ctx.store.documents.put(name, 'policy', document)
  },
})

export const DeletePolicy = route({
  name: 'DeletePolicy',
  method: 'DELETE',
  path: '/v1/buckets/{bucket}/policy',
  summary: 'Delete the policy of a bucket',
  permission: 'admin',
  status: 204,
  input: { bucket },
  run: (ctx, input) => ctx.store.documents.remove(input.bucket, 'policy'),
})
