/** Inspects both buckets and prepares the target bucket before anything is written into it. */
import { createHash } from 'node:crypto'
import { child, childText } from '../../lib/xml.ts'
import { renderXml } from '../../lib/xml-writer.ts'
import type { S3Client } from '../../s3/client.ts'
import { documentOf, NoResponse, RequestRefused, Untrusted } from '../../s3/responses.ts'
import { CommandFailed } from '../failures.ts'

export type SourceVersioning = 'off' | 'Enabled' | 'Suspended'

/** Error codes of servers that have no such configuration, or do not support it. */
export const NONE = [
  'NotImplemented',
  'ObjectLockConfigurationNotFoundError',
  'OwnershipControlsNotFoundError',
  'NoSuchBucketPolicy',
  'NoSuchCORSConfiguration',
  'NoSuchLifecycleConfiguration',
  'NoSuchTagSet',
  'NoSuchTagSetError',
  'NoSuchWebsiteConfiguration',
  'NoSuchPublicAccessBlockConfiguration',
  'ServerSideEncryptionConfigurationNotFoundError',
]

export const contentMd5 = (body: Buffer): readonly [string, string] => [
  'content-md5',
  createHash('md5').update(body).digest('base64'),
]

export interface SourceBucket {
  readonly versioning: SourceVersioning
  readonly hasLock: boolean
  /** ACLs are disabled there. */
  readonly ignoresLists: boolean
}

const document = async (client: S3Client, subresource: string) => {
  const response = await client.requestIfPresent({ method: 'GET', query: { [subresource]: '' } }, ...NONE)
  return response === undefined ? undefined : documentOf(response.body)
}

export async function readSourceBucket(client: S3Client): Promise<SourceBucket> {
  const status = await document(client, 'versioning')
  const lock = await document(client, 'object-lock')
  const ownership = await document(client, 'ownershipControls')
  const rule = ownership && child(ownership, 'Rule')
  const word = (status && childText(status, 'Status')) ?? ''
  return {
    versioning: word === 'Enabled' || word === 'Suspended' ? word : 'off',
    hasLock: lock !== undefined && childText(lock, 'ObjectLockEnabled') === 'Enabled',
    ignoresLists: (rule && childText(rule, 'ObjectOwnership')) === 'BucketOwnerEnforced',
  }
}

/** Adds the server and the bucket to the error. */
export async function withPlace<T>(side: string, client: S3Client, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof RequestRefused || error instanceof NoResponse || error instanceof Untrusted)) throw error
    const code = error instanceof RequestRefused ? ` (${error.code})` : ''
    throw new CommandFailed(
      `the ${side} ${client.address.endpoint.origin}, bucket ${client.address.bucket}: ${error.message}${code}`,
    )
  }
}

async function isThere(client: S3Client): Promise<boolean> {
  return (await client.requestIfPresent({ method: 'HEAD' }, '404', 'NoSuchBucket')) !== undefined
}

async function isEmpty(client: S3Client): Promise<boolean> {
  const { body } = await client.request({ method: 'GET', query: { versions: '', 'max-keys': 1 } })
  return !documentOf(body).children.some(({ name }) => name === 'Version' || name === 'DeleteMarker')
}

export async function setVersioning(client: S3Client, status: 'Enabled' | 'Suspended'): Promise<void> {
  const body = renderXml({ root: 'VersioningConfiguration', write: to => void to.leaf('Status', status) })
  await client.request({ method: 'PUT', query: { versioning: '' }, headers: [contentMd5(body)], body })
}

interface TargetSettings {
  readonly versions: boolean
  readonly lock: boolean
  /** Dry run: nothing is written. */
  readonly onlyLooking: boolean
}

/** Creates the target bucket, or checks that an existing one can take the versions. */
export async function readyTarget(
  client: S3Client,
  { versions, lock, onlyLooking }: TargetSettings,
): Promise<SourceBucket> {
  const { bucket } = client.address
  if (!(await isThere(client))) {
    if (onlyLooking) throw new CommandFailed(`the target has no bucket ${bucket}`)
    const headers = lock ? ([[':bucket-object-lock-enabled', 'true']] as const) : []
    await client.request({ method: 'PUT', headers })
  }
  const facts = await readSourceBucket(client)
  if (!versions || facts.versioning === 'Enabled' || onlyLooking) return facts
  if (!(await isEmpty(client))) {
    const remedy = `holdfast bucket versioning ${bucket} on, or import with --current-only`
    throw new CommandFailed(`versioning is not enabled on the target bucket ${bucket}: ${remedy}`)
  }
  await setVersioning(client, 'Enabled')
  return { ...facts, versioning: 'Enabled' }
}

/** Canonical ID of the key's account, as ACLs name it. */
export async function sourceCanonicalId(client: S3Client): Promise<string | undefined> {
  const response = await client.requestIfPresent({ method: 'GET', onService: true }, 'AccessDenied', ...NONE)
  const owner = response && child(documentOf(response.body), 'Owner')
  return owner && (childText(owner, 'ID') || undefined)
}
