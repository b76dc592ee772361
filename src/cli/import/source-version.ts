/** What a version is beside its bytes: as its server tells it. */
import { children, childText, type XmlNode } from '../../lib/xml.ts'
import { parseTimestamp } from '../../rules/http-date.ts'
import { documentOf, maybeDocument, type SourceHeaders, SourceRefused } from './answer.ts'
import { type S3Client, withRetries } from './client.ts'
import { type AccessList, readAccessList } from './grants.ts'

export interface VersionName {
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

/** Longer than any document about one version. */
const DOCUMENT_BYTES_MAX = 2 ** 16

const about = ({ key, versionId }: VersionName, subresource: string) =>
  ({ method: 'GET', key, query: { [subresource]: '', versionId } }) as const

/** Not all servers call them the same, but all so that they end so. */
const LOCK_DOCUMENTS = { retention: /Retention$/, 'legal-hold': /LegalHold$/ } as const

/**
 * A document about a lock. A server that does not know the question answers with the object itself: then its headers
 * are all it has to say.
 */
async function lockDocument(
  client: S3Client,
  name: VersionName,
  question: keyof typeof LOCK_DOCUMENTS,
): Promise<XmlNode | undefined> {
  const body = await withRetries(() => client.beginning(about(name, question), DOCUMENT_BYTES_MAX)).catch(
    (error: unknown) => {
      if (error instanceof SourceRefused && NO_LOCK.includes(error.code)) return undefined
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
 * Holds and retention, from the headers of an answer. Servers keep them back from those who may not see them, so what
 * is not told is asked for: a hold must not be lost because somebody was not allowed to look.
 */
export async function lockOf(client: S3Client, name: VersionName, said: SourceHeaders): Promise<SourceLock> {
  const toldHold = said.get(':object-lock-legal-hold')
  const toldMode = said.get(':object-lock-mode')
  let hold = toldHold === 'ON'
  if (toldHold === undefined) {
    const document = await lockDocument(client, name, 'legal-hold')
    hold = document !== undefined && childText(document, 'Status')?.trim() === 'ON'
  }
  if (toldMode !== undefined) {
    return { hold, retention: retentionOf(toldMode, said.get(':object-lock-retain-until-date')) }
  }
  const root = await lockDocument(client, name, 'retention')
  if (root === undefined) return { hold, retention: undefined }
  return { hold, retention: retentionOf(childText(root, 'Mode'), childText(root, 'RetainUntilDate')) }
}

export async function tagsOf(client: S3Client, name: VersionName): Promise<Tags> {
  const answer = await client.maybe(about(name, 'tagging'), 'NoSuchTagSet')
  if (answer === undefined) return []
  const [set] = children(documentOf(answer.body), 'TagSet')
  if (set === undefined) return []
  return children(set, 'Tag').map(tag => [childText(tag, 'Key') ?? '', childText(tag, 'Value') ?? ''] as const)
}

/** Undefined when the server does not tell: some know lists of current objects only, not below a marker. */
export async function accessListOf(client: S3Client, name: VersionName): Promise<AccessList | undefined> {
  try {
    return readAccessList(documentOf((await client.ask(about(name, 'acl'))).body))
  } catch (error) {
    if (error instanceof SourceRefused && error.status === 404) return undefined
    throw error
  }
}

/** Whether a server tells in its answers that an object has tags. Until it is seen to, it is asked. */
export class TagCount {
  #tells: boolean | undefined

  async tags(client: S3Client, name: VersionName, said: SourceHeaders): Promise<Tags> {
    const isTold = said.has(':tagging-count')
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

/** The headers that an object is made with again. */
export function attributesOf(said: SourceHeaders): (readonly [string, string])[] {
  const headers: [string, string][] = []
  for (const name of KEPT) {
    const value = said.get(name)
    if (value !== undefined) headers.push([name, value])
  }
  for (const [name, value] of said) if (name.startsWith(':meta-')) headers.push([name, value])
  // Whoever encrypted at the source wants it encrypted; its keys are not ours.
  if (said.has(':server-side-encryption')) headers.push([':server-side-encryption', 'AES256'])
  return headers
}

/** Entity tags of objects under a key service are no digests. */
export const hasForeignKey = (said: SourceHeaders): boolean => /kms/i.test(said.get(':server-side-encryption') ?? '')

const PLAIN_ETAG = /^[0-9a-f]{32}$/

export const isDigest = (etag: string): boolean => PLAIN_ETAG.test(etag)
export const isComposite = (etag: string): boolean => /^[0-9a-f]{32}-\d+$/.test(etag)

const ALGORITHMS = ['crc32', 'crc32c', 'crc64nvme', 'sha1', 'sha256']

export interface SourceChecksum {
  readonly algorithm: string
  readonly type: 'FULL_OBJECT' | 'COMPOSITE'
  readonly value: string
}

export function checksumOf(said: SourceHeaders): SourceChecksum | undefined {
  for (const algorithm of ALGORITHMS) {
    const value = said.get(`:checksum-${algorithm}`)
    if (value === undefined) continue
    const isOfParts = said.get(':checksum-type') === 'COMPOSITE' || /-\d+$/.test(value)
    return { algorithm, type: isOfParts ? 'COMPOSITE' : 'FULL_OBJECT', value }
  }
  return undefined
}
