/** The settings of a bucket that lists of buckets show, as far as the caller may read them. */
import { BadXml } from '../lib/xml.ts'
import { parseXml } from '../lib/xml-reader.ts'
import type { Bucket } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import { USAGE_FIELDS, type Usage } from '../model/usage.ts'
import { isPublicAcl } from '../rules/access/acl.ts'
import { isPublicPolicy } from '../rules/access/is-public.ts'
import { readBucketPolicy } from '../rules/access/policy.ts'
import { readBucketEncryption } from '../rules/documents/encryption.ts'
import { isUsageDamaged, usageOf } from '../store/usage/usage.ts'
import type { Schema } from './input.ts'
import { isPermitted } from './permitted.ts'
import type { AdminContext } from './route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, TIME, YES_OR_NO } from './schemas.ts'

/** One bucket of a list. Settings that are not required are absent when the caller may not read them. */
export const LISTED_BUCKET: Schema = objectOf({
  name: TEXT,
  owner: { ...TEXT, description: 'Id of the account' },
  createdAt: TIME,
  'versioning?': oneOfWords('off', 'on', 'suspended'),
  'lockEnabled?': YES_OR_NO,
  'defaultRetention?': { type: 'object' },
  'encryption?': {
    ...objectOf({ algorithm: TEXT, 'key?': TEXT }),
    nullable: true,
    description: 'The default of the bucket',
  },
  'public?': {
    ...objectOf({ policy: YES_OR_NO, acl: YES_OR_NO }),
    description: 'The reasons why the bucket is public',
  },
  documents: {
    ...listOf(TEXT),
    description: 'The documents that are set and that the caller may read, by the names of their sub-resources',
  },
  'usage?': {
    ...objectOf(Object.fromEntries(USAGE_FIELDS.map(name => [name, COUNT]))),
    nullable: true,
    description: 'Null until the bucket has been counted',
  },
})

/**
 * `usage` is null until the bucket has been counted after the upgrade from a version without counters, and while its
 * counters are damaged.
 */
export async function usageShown({ store }: AdminContext, one: Bucket): Promise<{ usage: Usage | null }> {
  try {
    return { usage: (await usageOf(store.context.meta, one)) ?? null }
  } catch (error) {
    if (isUsageDamaged(error)) return { usage: null }
    throw error
  }
}

/** The default encryption of the bucket; null where objects are encrypted only on request. */
async function encryptionShown({ store }: AdminContext, { name, documents }: Bucket) {
  const text = documents.includes('encryption') ? await store.documents.get(name, 'encryption') : undefined
  if (text === undefined) return { encryption: null }
  const { algorithm, keyId } = readBucketEncryption(parseXml(text))
  return { encryption: algorithm === undefined ? null : { algorithm, key: keyId } }
}

/** Whether the policy and the ACL of the bucket open it to everybody, after the public access block. */
async function publicShown({ store }: AdminContext, bucket: Bucket) {
  const { name, documents, grants, publicAccessBlock: block, ownership } = bucket
  const text = documents.includes('policy') ? await store.documents.get(name, 'policy') : undefined
  const policy = text !== undefined && isPublicPolicy(readBucketPolicy(text, name))
  const acl = isPublicAcl(grants) && ownership !== 'BucketOwnerEnforced'
  return {
    public: {
      policy: policy && block?.restrictPublicBuckets !== true,
      acl: acl && block?.ignorePublicAcls !== true,
    },
  }
}

const versioningShown = async (_ctx: AdminContext, { versioning }: Bucket) => ({ versioning })
const lockShown = async (_ctx: AdminContext, { lockEnabled, defaultRetention }: Bucket) => ({
  lockEnabled,
  defaultRetention,
})

/** Each part with the permission that the object API requires for it. */
const PARTS: readonly (readonly [string, (ctx: AdminContext, bucket: Bucket) => Promise<object>])[] = [
  ['GetBucketVersioning', versioningShown],
  ['GetBucketObjectLockConfiguration', lockShown],
  ['GetEncryptionConfiguration', encryptionShown],
  ['GetBucketPolicyStatus', publicShown],
  ['ListBucketVersions', usageShown],
]

/** The action that the object API requires for reading each document. */
const DOCUMENT_ACTIONS: ReadonlyMap<string, string> = new Map([
  ['policy', 'GetBucketPolicy'],
  ['lifecycle', 'GetLifecycleConfiguration'],
  ['cors', 'GetBucketCORS'],
  ['website', 'GetBucketWebsite'],
  ['encryption', 'GetEncryptionConfiguration'],
  ['logging', 'GetBucketLogging'],
  ['tagging', 'GetBucketTagging'],
  ['publicAccessBlock', 'GetBucketPublicAccessBlock'],
  ['ownershipControls', 'GetBucketOwnershipControls'],
])

/** A client that asks for a document that is not set gets an error, and browsers report it as one of the page. */
async function documentsShown(ctx: AdminContext, bucket: Bucket): Promise<string[]> {
  const { name, documents, publicAccessBlock, ownership } = bucket
  const present = [
    ...documents,
    ...(publicAccessBlock === undefined ? [] : ['publicAccessBlock']),
    ...(ownership === undefined ? [] : ['ownershipControls']),
  ]
  const shown: string[] = []
  for (const document of present) {
    const action = DOCUMENT_ACTIONS.get(document)
    if (action !== undefined && (await isPermitted(ctx, { action, bucket: name }))) shown.push(document)
  }
  return shown
}

/** One bucket with an unreadable document must not hide all others. */
async function unlessUnreadable(part: Promise<object>): Promise<object> {
  try {
    return await part
  } catch (error) {
    if (error instanceof Fault || error instanceof BadXml) return {}
    throw error
  }
}

/** Parts that the caller may not read are left out, as are those that cannot be read. */
export async function bucketGlance(ctx: AdminContext, bucket: Bucket): Promise<object> {
  const shown: object[] = []
  for (const [action, part] of PARTS) {
    if (!(await isPermitted(ctx, { action, bucket: bucket.name }))) continue
    shown.push(await unlessUnreadable(part(ctx, bucket)))
  }
  return Object.assign({ documents: await documentsShown(ctx, bucket) }, ...shown)
}
