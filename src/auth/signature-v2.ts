/**
 * Signature Version 2 in a query (D31), the default of boto3 and the AWS CLI 1 for presigned URLs. It covers the
 * method, the bucket and the path, sub-resources, the dialect's headers, Content-MD5 and Content-Type; other parameters
 * are not covered.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { headerValues, type RawRequest, trimmed } from '../http/raw-request.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Credential } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { Authenticated, Authentication } from './authentication.ts'
import { callerOf, declaredPayload, findCredential, type PayloadRule, payloadRule } from './parsed-signature.ts'
import { authFault } from './refusal.ts'
import { escapedPath, type HeaderFields, isoText, queryIn } from './signing.ts'

/**
 * Parameters that the signature covers. The list has every parameter that selects an operation, including those newer
 * than this signature version: one that is missing could be appended to a shared link.
 */
export const SIGNED_PARAMETERS: ReadonlySet<string> = new Set([
  'abac',
  'accelerate',
  'acl',
  'analytics',
  'append',
  'attributes',
  'cors',
  'defaultObjectAcl',
  'delete',
  'encryption',
  'intelligent-tiering',
  'inventory',
  'legal-hold',
  'lifecycle',
  'location',
  'logging',
  'metadataConfiguration',
  'metadataInventoryTable',
  'metadataJournalTable',
  'metadataTable',
  'metrics',
  'notification',
  'object-lock',
  'ownershipControls',
  'partNumber',
  'policy',
  'policyStatus',
  'publicAccessBlock',
  'renameObject',
  'replication',
  'requestPayment',
  'response-cache-control',
  'response-content-disposition',
  'response-content-encoding',
  'response-content-language',
  'response-content-type',
  'response-expires',
  'restore',
  'retention',
  'select',
  'select-type',
  'session',
  'storageClass',
  'tagging',
  'torrent',
  'uploadId',
  'uploads',
  'versionId',
  'versioning',
  'versions',
  'website',
])

/** Headers of either dialect: one that is sent in the query is signed like the header. */
const EXTENSION = /^x-(amz|svc)-/
const SECRET_HEADER = /-customer-key(-md5)?$|-security-token$/

interface Parameter {
  readonly name: string
  /** Undefined without an equals sign: the parameter is signed as it was sent. */
  readonly value: string | undefined
}

interface RequestV2 {
  readonly request: RawRequest
  readonly fields: HeaderFields
  /** Never empty. */
  readonly path: string
  readonly query: string
}

/** One character per byte, as in all signed text. */
const decoded = (text: string): string =>
  text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))

const parametersOf = (query: string): Parameter[] =>
  query
    .split('&')
    .filter(piece => piece !== '')
    .map(piece => {
      const equals = piece.indexOf('=')
      if (equals < 0) return { name: decoded(piece), value: undefined }
      return { name: decoded(piece.slice(0, equals)), value: decoded(piece.slice(equals + 1)) }
    })

export function authenticateV2(sent: RequestV2, by: Authentication): MaybePromise<Authenticated> {
  const parameters = parametersOf(queryIn(by.scheme, sent.query))
  const given = (name: string): string | undefined => parameters.find(one => one.name === name)?.value
  const [accessKey, signature, expires] = ['AWSAccessKeyId', 'Signature', 'Expires'].map(given)
  if (accessKey === undefined || signature === undefined || expires === undefined) {
    throw new Fault('AccessDenied', {
      reason: 'Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters',
    })
  }
  checkExpires(expires, by.now)
  const payload = payloadOf(sent.fields, by)
  const headers = extensionHeaders(sent.request, parameters)
  if (headers.has(`${by.scheme.headerPrefix}security-token`)) throw authFault('InvalidToken', {})
  const verified = (credential: Credential): Authenticated => {
    const text = (path: string, shown: ReadonlyMap<string, string> = headers): string =>
      stringToSign(sent, { expires, parameters, headers: shown, resource: (by.hostBucket ?? '') + path })
    const isSigned = (path: string): boolean => isSignatureV2(credential.secretKey, text(path), signature)
    if (!spellings(sent.path, by.hostBucket ?? '').some(isSigned)) {
      throw mismatch(accessKey, signature, text(sent.path, withoutSecrets(headers)))
    }
    return { caller: callerOf(credential), payload, region: by.region, signatureVersion: 'AWS' }
  }
  const credential = findCredential(accessKey, by)
  return credential instanceof Promise ? credential.then(verified) : verified(credential)
}

/**
 * Spellings of the path that clients sign: with bytes escaped that they send unescaped, and, as boto3 does, a bucket
 * with a trailing slash that the request omits.
 */
function spellings(path: string, hostBucket: string): readonly string[] {
  const found = [path]
  const escaped = escapedPath(path)
  if (escaped !== path) found.push(escaped)
  if (hostBucket === '' && path.length > 1 && !path.includes('/', 1)) found.push(`${escaped}/`)
  return found
}

const EXPIRES = /^\d{1,12}$/

function checkExpires(text: string, now: number): void {
  if (!EXPIRES.test(text)) {
    throw new Fault('AccessDenied', { reason: `Invalid date (should be seconds since epoch): ${text}` })
  }
  const end = Number(text) * 1000
  if (now < end) return
  throw new Fault('AccessDenied', { reason: 'Request has expired', Expires: isoText(end), ServerTime: isoText(now) })
}

/** Chunked bodies, signed or not, belong to Signature Version 4. */
function payloadOf(fields: HeaderFields, { scheme }: Authentication): PayloadRule {
  const contentHash = fields.get(`${scheme.headerPrefix}content-sha256`)
  const declared = contentHash === undefined ? undefined : declaredPayload(contentHash, scheme)
  const codings = (fields.get('content-encoding') ?? '').split(',').map(coding => coding.trim())
  if (declared?.kind === 'chunks' || codings.includes(scheme.chunkEncoding)) {
    throw authFault('InvalidRequest', {
      reason: `A body in chunks cannot be signed with Signature Version 2. Please use ${scheme.algorithm}.`,
    })
  }
  return payloadRule(declared ?? { kind: 'unsigned' }, { fields, scheme, chain: undefined })
}

/** By lower-case name, sorted. A header that is sent in the query is signed as a header. */
function extensionHeaders({ headers }: RawRequest, parameters: readonly Parameter[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const [sent, value] of headers) {
    const name = sent.toLowerCase()
    if (!EXTENSION.test(name)) continue
    const before = found.get(name)
    found.set(name, before === undefined ? trimmed(value) : `${before},${trimmed(value)}`)
  }
  for (const { name: sent, value = '' } of parameters) {
    const name = sent.toLowerCase()
    if (EXTENSION.test(name) && !found.has(name)) found.set(name, trimmed(value))
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

interface Signed {
  readonly expires: string
  readonly parameters: readonly Parameter[]
  readonly headers: ReadonlyMap<string, string>
  readonly resource: string
}

function stringToSign({ request }: RequestV2, { expires, parameters, headers, resource }: Signed): string {
  const plain = (name: string): string => {
    const sent = headerValues(request, name).map(trimmed).join(',')
    return sent === '' ? (parameters.find(parameter => parameter.name === name)?.value ?? '') : sent
  }
  const lines = Array.from(headers, ([name, value]) => `${name}:${value}\n`).join('')
  const covered = parameters
    .filter(({ name }) => SIGNED_PARAMETERS.has(name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, value }) => (value === undefined ? name : `${name}=${value}`))
    .join('&')
  const whole = covered === '' ? resource : `${resource}?${covered}`
  return [request.method, plain('content-md5'), plain('content-type'), expires, lines + whole].join('\n')
}

const SIGNATURE_CHARACTERS = 28

/** Compares with the base64 HMAC-SHA-1 of latin1 text in constant time. */
export function isSignatureV2(secretKey: string, text: string, provided: string): boolean {
  const expected = createHmac('sha1', secretKey).update(text, 'latin1').digest('base64')
  if (provided.length !== SIGNATURE_CHARACTERS) return false
  return timingSafeEqual(Buffer.from(expected, 'latin1'), Buffer.from(provided, 'latin1'))
}

const withoutSecrets = (headers: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map(Array.from(headers, ([name, value]) => [name, SECRET_HEADER.test(name) ? '***' : value]))

const mismatch = (accessKey: string, signature: string, text: string): Fault =>
  new Fault('SignatureDoesNotMatch', {
    SvcAccessKeyId: accessKey,
    StringToSign: text,
    SignatureProvided: signature,
  })
