/** The attributes of a version: lock, tags, ACL, metadata and checksum. */
import { children, childText, type XmlNode } from '../../lib/xml.ts'
import { parseTimestamp } from '../../rules/http-date.ts'
import type { S3Client } from '../../s3/client.ts'
import { documentOf, maybeDocument, type NeutralHeaders, RequestRefused } from '../../s3/responses.ts'
import { withRetries } from '../../s3/retries.ts'
import { type AccessList, readAccessList } from './grants.ts'

interface VersionName {
  readonly key: string
  readonly versionId: string | undefined
}

export interface SourceLock {
  readonly hold: boolean
  readonly retention: { readonly mode: string; readonly until: number } | undefined
}

export type Tags = readonly (readonly [string, string])[]

export const SOURCE_UNLOCKED: SourceLock = { hold: false, retention: undefined }

const NO_LOCK = ['NoSuchObjectLockConfiguration', 'ObjectLockConfigurationNotFoundError']

/** No document about one version is longer. */
const DOCUMENT_BYTES_MAX = 2 ** 16

const about = ({ key, versionId }: VersionName, subresource: string) =>
  ({ method: 'GET', key, query: { [subresource]: '', versionId } }) as const

/** Servers name the root element differently, but always with this suffix. */
const LOCK_DOCUMENTS = { retention: /Retention$/, 'legal-hold': /LegalHold$/ } as const

/**
 * Reads a lock document. A server that does not support the subresource returns the object itself; then only its
 * headers tell.
 */
async function lockDocument(
  client: S3Client,
  name: VersionName,
  question: keyof typeof LOCK_DOCUMENTS,
): Promise<XmlNode | undefined> {
  const body = await withRetries(() => client.readShort(about(name, question), DOCUMENT_BYTES_MAX)).catch(
    (error: unknown) => {
      if (error instanceof RequestRefused && NO_LOCK.includes(error.code)) return undefined
      throw error
    },
  )
  const document = body === undefined ? undefined : maybeDocument(body)
  return document !== undefined && LOCK_DOCUMENTS[question].test(document.name) ? document : undefined
}

function retentionOf(mode: string | undefined, until: string | undefined): SourceLock['retention'] {
  const moment = until === undefined ? undefined : parseTimestamp(until.trim())
  return mode === undefined || moment === undefined ? undefined : { mode: mode.trim(), until: moment }
}

/**
 * Legal hold and retention. Servers omit these headers for callers without the permission to read them, so absent ones
 * are requested explicitly: a hold must not be lost for lack of a permission.
 */
export async function lockOf(
  client: S3Client,
  name: VersionName,
  responseHeaders: NeutralHeaders,
): Promise<SourceLock> {
  const holdHeader = responseHeaders.get(':object-lock-legal-hold')
  const modeHeader = responseHeaders.get(':object-lock-mode')
  let hold = holdHeader === 'ON'
  if (holdHeader === undefined) {
    const document = await lockDocument(client, name, 'legal-hold')
    hold = document !== undefined && childText(document, 'Status')?.trim() === 'ON'
  }
  if (modeHeader !== undefined) {
    return { hold, retention: retentionOf(modeHeader, responseHeaders.get(':object-lock-retain-until-date')) }
  }
  const root = await lockDocument(client, name, 'retention')
  if (root === undefined) return { hold, retention: undefined }
  return { hold, retention: retentionOf(childText(root, 'Mode'), childText(root, 'RetainUntilDate')) }
}

async function tagsOf(client: S3Client, name: VersionName): Promise<Tags> {
  const response = await client.requestIfPresent(about(name, 'tagging'), 'NoSuchTagSet')
  if (response === undefined) return []
  const [set] = children(documentOf(response.body), 'TagSet')
  if (set === undefined) return []
  return children(set, 'Tag').map(tag => [childText(tag, 'Key') ?? '', childText(tag, 'Value') ?? ''] as const)
}

/** Undefined where a server has none: some support ACLs only of current objects that no delete marker hides. */
export async function accessListOf(client: S3Client, name: VersionName): Promise<AccessList | undefined> {
  try {
    return readAccessList(documentOf((await client.request(about(name, 'acl'))).body))
  } catch (error) {
    if (error instanceof RequestRefused && error.status === 404) return undefined
    throw error
  }
}

/** Learns whether a server sends the tag count. Until it has sent one, tags are requested for every version. */
export class TagCount {
  #tells: boolean | undefined

  async tags(client: S3Client, name: VersionName, responseHeaders: NeutralHeaders): Promise<Tags> {
    const isTold = responseHeaders.has(':tagging-count')
    if (isTold) this.#tells ??= true
    else if (this.#tells === true) return []
    const tags = await tagsOf(client, name)
    if (!isTold && tags.length > 0) this.#tells = false
    return tags
  }
}

const KEPT = [
  'content-type',
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
  ':website-redirect-location',
]

/** The headers that recreate the object's metadata. */
export function attributesOf(responseHeaders: NeutralHeaders): (readonly [string, string])[] {
  const headers: [string, string][] = []
  for (const name of KEPT) {
    const value = responseHeaders.get(name)
    if (value !== undefined) headers.push([name, value])
  }
  for (const [name, value] of responseHeaders) if (name.startsWith(':meta-')) headers.push([name, value])
  // Encrypted objects stay encrypted, under the target's own keys.
  if (responseHeaders.has(':server-side-encryption')) headers.push([':server-side-encryption', 'AES256'])
  return headers
}

/** ETags of SSE-KMS objects are not digests. */
export const hasForeignKey = (responseHeaders: NeutralHeaders): boolean =>
  /kms/i.test(responseHeaders.get(':server-side-encryption') ?? '')

const PLAIN_ETAG = /^[0-9a-f]{32}$/

export const isDigest = (etag: string): boolean => PLAIN_ETAG.test(etag)
export const isComposite = (etag: string): boolean => /^[0-9a-f]{32}-\d+$/.test(etag)

const ALGORITHMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256']

export interface SourceChecksum {
  readonly algorithm: string
  readonly type: 'FULL_OBJECT' | 'COMPOSITE'
  readonly value: string
}

export function checksumOf(responseHeaders: NeutralHeaders): SourceChecksum | undefined {
  for (const algorithm of ALGORITHMS) {
    const value = responseHeaders.get(`:checksum-${algorithm}`)
    if (value === undefined) continue
    const isOfParts = responseHeaders.get(':checksum-type') === 'COMPOSITE' || /-\d+$/.test(value)
    return { algorithm, type: isOfParts ? 'COMPOSITE' : 'FULL_OBJECT', value }
  }
  return undefined
}
