/** Attributes of an object beside its bytes: decoded from requests, and written to response headers. */
import { headerWire } from '../../http/raw-request.ts'
import { Fault } from '../../model/faults.ts'
import type { Attributes, Lock, Pairs, Version } from '../../model/version.ts'
import {
  type Canned,
  checkAclSupported,
  checkNotPublic,
  expandCanned,
  newObjectOwner,
  OBJECT_CANNED,
  readCanned,
} from '../../rules/access/acl.ts'
import { GRANT_HEADERS } from '../../rules/access/grant-headers.ts'
import { headerName } from '../../rules/access/names.ts'
import { quotedEtag } from '../../rules/conditional-requests.ts'
import { formatHttpDate, formatTimestamp, parseTimestamp } from '../../rules/http-date.ts'
import {
  abortOf,
  type ExpiringObject,
  expirationOf,
  expirationText,
  type LifecycleRule,
  ruleIdText,
} from '../../rules/lifecycle.ts'
import { initialLock } from '../../rules/lock.ts'
import { parseTagHeader } from '../../rules/tags.ts'
import { grantsFromHeaders } from '../acl.ts'
import type { Header, OperationContext, RequestView } from '../context.ts'
import type { Decoder, RequiredPermission } from '../operation.ts'
import { invalidArgument, maybe } from '../operation.ts'
import { contextHeader, encryptionHeaders, requestedEncryption } from './encryption.ts'

/** R18. The version of the response; omitted in buckets that never had versioning. */
export const versionIdHeader = ({ bucket }: OperationContext, version: Pick<Version, 'id'> | undefined): Header => [
  ':version-id',
  bucket.versioning === 'off' ? undefined : version?.id,
]

const METADATA_BYTES_MAX = 2048
const REDIRECT_CHARACTERS_MAX = 2048
const DEFAULT_CONTENT_TYPE = 'binary/octet-stream'

const STORED_HEADERS = [
  'cache-control',
  'content-disposition',
  'content-encoding',
  'content-language',
  'expires',
] as const

/** As sent, without the coding that only frames the body in transit. */
function contentEncoding(value: string): string | undefined {
  const kept = value.split(',').filter(coding => !/^\s*(svc|aws)-chunked\s*$/i.test(coding))
  return kept.join(',').trim() || undefined
}

const objectHeaders: Decoder<Pairs> = {
  decode(request) {
    // R15. An empty value counts as absent.
    const headers: [string, string][] = [['content-type', request.header('content-type') || DEFAULT_CONTENT_TYPE]]
    for (const name of STORED_HEADERS) {
      const sent = request.header(name)
      const value = sent !== undefined && name === 'content-encoding' ? contentEncoding(sent) : sent
      if (value !== undefined) headers.push([name, value])
    }
    return headers
  },
}

/** R14. */
const userMetadata: Decoder<Pairs> = {
  decode(request) {
    const pairs = request.headersUnder(':meta-')
    const size = pairs.reduce((sum, [name, value]) => sum + headerWire(name).length + headerWire(value).length, 0)
    if (size > METADATA_BYTES_MAX) {
      throw new Fault('MetadataTooLarge', { Size: size, MaxSizeAllowed: METADATA_BYTES_MAX })
    }
    return pairs
  },
}

export const tagSet: Decoder<Pairs> = {
  decode(request) {
    const sent = request.header(':tagging')
    return sent === undefined ? [] : parseTagHeader(sent)
  },
}

/** A path of this site or a URL. Two slashes, or a slash and a backslash, would start a host name. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not occur
const REDIRECT_FORM = /^(\/(?![/\\])|https?:\/\/)[^\0-\x1f\x7f]*$/

/** R28. Where website hosting redirects requests for the object. */
const redirect: Decoder<string | undefined> = maybe.header(':website-redirect-location', (value, name) => {
  if (!REDIRECT_FORM.test(value)) {
    const reason = 'The website redirect location must have a prefix of http:// or https:// or /.'
    throw new Fault('InvalidRedirectLocation', { reason })
  }
  if (value.length > REDIRECT_CHARACTERS_MAX) {
    throw new Fault('InvalidRequest', { reason: `The value of ${name} is too long.` })
  }
  return value
})

/** Classes with immediate reads. Archive classes, which need a restore, are not offered. */
const STORAGE_CLASSES = [
  'STANDARD',
  'REDUCED_REDUNDANCY',
  'STANDARD_IA',
  'ONEZONE_IA',
  'INTELLIGENT_TIERING',
  'GLACIER_IR',
]

/** Other S3 classes, which need a different kind of storage. */
const UNSUPPORTED_CLASSES = [
  'GLACIER',
  'DEEP_ARCHIVE',
  'OUTPOSTS',
  'SNOW',
  'EXPRESS_ONEZONE',
  'FSX_OPENZFS',
  'FSX_ONTAP',
]

/** Returned as sent; the standard class is omitted. */
const storageClass: Decoder<string | undefined> = maybe.header(':storage-class', value => {
  if (!STORAGE_CLASSES.includes(value)) {
    const isKnown = UNSUPPORTED_CLASSES.includes(value)
    const reason = isKnown ? `The storage class ${value} is not offered: no tier is mapped to it.` : undefined
    throw new Fault('InvalidStorageClass', { StorageClassRequested: value, reason })
  }
  return value === 'STANDARD' ? undefined : value
})

/** R27. Both retention headers or neither; a legal hold is independent. */
const lock: Decoder<Lock> = {
  decode(request) {
    const mode = request.header(':object-lock-mode')
    const until = request.header(':object-lock-retain-until-date')
    const hold = request.header(':object-lock-legal-hold')
    if ((mode === undefined) !== (until === undefined)) {
      const [one, other] = [headerName('object-lock-retain-until-date'), headerName('object-lock-mode')]
      throw invalidArgument(mode === undefined ? other : one, '', `${one} and ${other} must both be supplied`)
    }
    if (hold !== undefined && hold !== 'ON' && hold !== 'OFF') {
      throw invalidArgument(headerName('object-lock-legal-hold'), hold, 'Legal Hold must be either of ON or OFF')
    }
    return { retention: retention(mode, until), hold: hold === undefined ? undefined : hold === 'ON' }
  },
}

function retention(mode: string | undefined, until: string | undefined): Lock['retention'] {
  if (mode === undefined || until === undefined) return undefined
  if (mode !== 'GOVERNANCE' && mode !== 'COMPLIANCE') {
    throw invalidArgument(headerName('object-lock-mode'), mode, 'Unknown wormMode directive.')
  }
  const moment = parseTimestamp(until)
  if (moment === undefined || moment < 0) {
    const reason = 'The retain until date must be provided in ISO 8601 format'
    throw invalidArgument(headerName('object-lock-retain-until-date'), until, reason)
  }
  return { mode: mode === 'GOVERNANCE' ? 'governance' : 'compliance', until: moment }
}

const ACL_HEADERS = [':acl', ...[...GRANT_HEADERS.keys()].map(name => `:${name}`)]

/** R60, P17. The permissions that creating an object requires beyond PutObject, depending on the request. */
export function newObjectPermissions(request: RequestView): readonly RequiredPermission[] {
  const asksFor = (...names: readonly string[]): boolean => names.some(name => request.header(name) !== undefined)
  const needs: RequiredPermission[] = [{ action: 'PutObject' }]
  if (asksFor(...ACL_HEADERS)) needs.push({ action: 'PutObjectAcl', forNewObjectOf: 'writer' })
  if (asksFor(':tagging')) needs.push({ action: 'PutObjectTagging', forNewObjectOf: 'bucket' })
  if (asksFor(':object-lock-mode', ':object-lock-retain-until-date')) {
    needs.push({ action: 'PutObjectRetention', forNewObjectOf: 'bucket' })
  }
  if (asksFor(':object-lock-legal-hold')) needs.push({ action: 'PutObjectLegalHold', forNewObjectOf: 'bucket' })
  return needs
}

/** The attributes that a client may give a new object, in every operation that creates one. */
export const newObjectInputs = {
  headers: objectHeaders,
  metadata: userMetadata,
  redirect,
  storageClass,
  lock,
  requestedEncryption,
}

/** Owner and ACL of a new object (G6, G9, R56). */
export function ownerAndGrants(
  ctx: OperationContext,
  takesExecRead = true,
): { owner: string; grants: Attributes['grants'] } {
  const allowed: readonly Canned[] = takesExecRead ? [...OBJECT_CANNED, 'exec-read'] : OBJECT_CANNED
  const mode = ctx.bucket.ownership ?? 'ObjectWriter'
  const bucketOwner = ctx.bucket.owner
  const sent = ctx.request.header(':acl')
  const canned = sent === undefined ? undefined : readCanned(sent, allowed)
  const owner = newObjectOwner({ ownership: mode, bucketOwner, writer: ctx.callerId, canned })
  const grants = grantsFromHeaders(ctx, allowed, { owner, bucketOwner })
  if (grants === undefined) return { owner, grants: expandCanned('private', { owner, bucketOwner }) }
  checkAclSupported(mode, bucketOwner, { canned, grants })
  checkNotPublic(grants, ctx.bucket.publicAccessBlock?.blockPublicAcls === true)
  return { owner, grants }
}

/** R57. Refuses a lock the bucket cannot keep before any byte is read; the commit checks again. */
export function checkLock(ctx: OperationContext, wanted: Lock): void {
  initialLock(ctx.bucket, wanted, ctx.store.context.clock.now())
}

/** R18, D25. */
function namesVersion({ bucket, behavior }: OperationContext, version: Version): boolean {
  return bucket.versioning !== 'off' && (behavior.namesNullVersion || version.id !== 'null')
}

/** D17. The response headers about a new version. */
export async function newVersionHeaders(ctx: OperationContext, version: Version): Promise<Header[]> {
  const { modifiedAt, size, attributes } = version
  const expiring = { modifiedAt, size, key: ctx.target.key, tags: attributes.tags }
  return [
    ['etag', quotedEtag(version.etag)],
    [':version-id', namesVersion(ctx, version) ? version.id : undefined],
    ...encryptionHeaders(version),
    contextHeader(version),
    ...(await expirationHeaders(ctx, expiring)),
  ]
}

/** The headers of GET and HEAD that describe an object. */
export function describe(version: Version, versioned: boolean): Header[] {
  const { attributes } = version
  const headers: Header[] = [
    ['etag', quotedEtag(version.etag)],
    ['last-modified', formatHttpDate(version.modifiedAt)],
    ['accept-ranges', 'bytes'],
  ]
  if (versioned) headers.push([':version-id', version.id])
  for (const [name, value] of attributes.headers) headers.push([name, headerWire(value)])
  for (const [name, value] of attributes.metadata) headers.push([`:meta-${name}`, headerWire(value)])
  if (attributes.redirect !== undefined) headers.push([':website-redirect-location', headerWire(attributes.redirect)])
  if (attributes.storageClass !== undefined) headers.push([':storage-class', attributes.storageClass])
  if (attributes.tags.length > 0) headers.push([':tagging-count', attributes.tags.length])
  headers.push(...encryptionHeaders(version))
  return headers
}

export const isLocked = ({ lock }: Version): boolean => lock.retention !== undefined || lock.hold !== undefined

/** R114, P30. Lock state, if the caller may read it. */
export async function lockHeaders(ctx: OperationContext, { lock }: Version): Promise<Header[]> {
  const out: Header[] = []
  if (lock.retention !== undefined && (await ctx.isAllowed('GetObjectRetention'))) {
    out.push([':object-lock-mode', lock.retention.mode.toUpperCase()])
    out.push([':object-lock-retain-until-date', formatTimestamp(lock.retention.until)])
  }
  if (lock.hold !== undefined && (await ctx.isAllowed('GetObjectLegalHold'))) {
    out.push([':object-lock-legal-hold', lock.hold ? 'ON' : 'OFF'])
  }
  return out
}

export const checksumHeaders = ({ checksum }: Version): Header[] =>
  checksum === undefined
    ? []
    : [
        [`:checksum-${checksum.algorithm.toLowerCase()}`, checksum.value],
        [':checksum-type', checksum.type],
      ]

export const hasLifecycle = ({ bucket }: OperationContext): boolean => bucket.documents.includes('lifecycle')

/** Unreadable lifecycle rules do not fail the request. */
async function rulesOf(ctx: OperationContext): Promise<readonly LifecycleRule[]> {
  const { bucket, store } = ctx
  try {
    return await store.documents.lifecycleRules(bucket.name)
  } catch (error) {
    ctx.reportDamage(new Error(`the lifecycle rules of bucket ${bucket.name} cannot be read: ${error}`))
    return []
  }
}

/** R89. */
export async function expirationHeaders(ctx: OperationContext, of: ExpiringObject): Promise<Header[]> {
  if (!hasLifecycle(ctx)) return []
  const due = expirationOf(await rulesOf(ctx), of)
  return due === undefined ? [] : [[':expiration', expirationText(due)]]
}

/** R67. */
export async function abortHeaders(ctx: OperationContext, key: string, initiatedAt: number): Promise<Header[]> {
  if (!hasLifecycle(ctx)) return []
  const due = abortOf(await rulesOf(ctx), key, initiatedAt)
  if (due === undefined) return []
  return [
    [':abort-date', formatHttpDate(due.at)],
    [':abort-rule-id', ruleIdText(due.ruleId)],
  ]
}
