/**
 * G3. Determines the caller of a request and the rule for checking its body, or throws a fault. Signatures are in the
 * Authorization header or in the query. Nothing here depends on buckets, permissions or how credentials are stored.
 */
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Credential } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import { isRegionName } from '../rules/naming.ts'
import type { Authenticated, Authentication } from './authentication.ts'
import type { HeaderClaim } from './header-claim.ts'
import {
  anonymousPayload,
  callerOf,
  type DeclaredPayload,
  declaredPayload,
  findCredential,
  otherScheme,
  type ParsedSignature,
  type PayloadRule,
  parseHeaderSignature,
  payloadRule,
} from './parsed-signature.ts'
import {
  cachedQuerySignature,
  isPresigned,
  oldQuerySignature,
  parseQuerySignature,
  type SignedQuery,
} from './presigned-signature.ts'
import { authFault } from './refusal.ts'
import { authenticateV2 } from './signature-v2.ts'
import type { SignedHeaders } from './signed-headers.ts'
import {
  type Canonical,
  canonicalFields,
  canonicalPairs,
  canonicalQuery,
  canonicalRequest,
  escapedPath,
  type HeaderFields,
  hmac,
  isoText,
  queryIn,
  SCHEMES,
  type Scheme,
  type Scope,
  type SigningKey,
  sameSignature,
  scopeOf,
  sha256Hex,
  signingKey,
} from './signing.ts'

const SKEW_MS_MAX = 900_000

/** The signature that a request claims to have: all of it follows from the request alone, and nothing is verified. */
export interface SignatureClaim {
  readonly parsed: ParsedSignature
  readonly canonical: Canonical
  readonly declared: DeclaredPayload
  /** The key that the signature was found to be of: the same request need not be hashed again for it. */
  verifiedWith: SigningKey | undefined
}

export function authenticate(request: RawRequest, by: Authentication): MaybePromise<Authenticated> {
  const { scheme } = by
  const fields = canonicalFields(request)
  const { path, query } = splitTarget(request.target)
  const found = parseSignature(fields, query, by)
  const { parsed } = found
  if (parsed === undefined) {
    const payload = anonymousPayload(fields, scheme)
    return { caller: { kind: 'anonymous' }, payload, region: by.region, signatureVersion: undefined }
  }
  if (parsed === 'version 2') return authenticateV2({ request, fields, path: path || '/', query }, by)
  return verifyClaim(
    claimOf(request.method, path, fields, { parsed, canonicalQuery: found.canonicalQuery }, scheme),
    by,
  )
}

/** The claim of a presigned URL in its usual form; undefined for any other request. */
export function presignedClaim(request: RawRequest, scheme: Scheme): SignatureClaim | undefined {
  const fields = canonicalFields(request)
  const { path, query } = splitTarget(request.target)
  const found = fields.has('authorization') ? undefined : cachedQuerySignature(query, fields, scheme)
  return found && claimOf(request.method, path, fields, found, scheme)
}

function claimOf(
  method: string,
  path: string,
  fields: HeaderFields,
  { parsed, canonicalQuery: query }: SignedQuery,
  scheme: Scheme,
): SignatureClaim {
  const declared = declaredPayload(parsed.contentHash, scheme)
  checkSignedHeaders(fields, parsed.signedHeaders, scheme)
  const { signedHeaders, contentHash } = parsed
  const canonical = { method, path: path || '/', query, fields, signedHeaders, contentHash }
  return { parsed, canonical, declared, verifiedWith: undefined }
}

export function verifyClaim(claim: SignatureClaim, by: Authentication): MaybePromise<Authenticated> {
  const { scheme } = by
  const { parsed, canonical, declared } = claim
  return callerBy(parsed, by, (key, scope) => {
    if (claim.verifiedWith !== key) checkSignature(canonical, parsed, scheme, key)
    claim.verifiedWith = key
    const chain = { scheme, key, scope: scope.text, timestamp: parsed.timestamp.text, seed: parsed.signature }
    return payloadRule(declared, { fields: canonical.fields, scheme, chain })
  })
}

/** A wrong signature may be one that `authenticate` accepts, or explains. */
export function verifyHeaderClaim(claim: HeaderClaim, by: Authentication): MaybePromise<Authenticated> {
  const { parsed, canonicalHash } = claim
  return callerBy(parsed, by, key => {
    if (claim.verifiedWith !== key) {
      const expected = hmac(key, stringToSign(canonicalHash, parsed, by.scheme))
      if (!sameSignature(expected, parsed.signature)) throw new Fault('SignatureDoesNotMatch')
      claim.verifiedWith = key
    }
    return declaredPayload(parsed.contentHash, by.scheme) as PayloadRule
  })
}

/** The caller, if time, scope and credential are right and the check of the signature does not throw. */
function callerBy(
  parsed: ParsedSignature,
  by: Authentication,
  check: (key: SigningKey, scope: Scope) => PayloadRule,
): MaybePromise<Authenticated> {
  checkTime(parsed, by)
  const scope = checkScope(parsed, by)
  if (parsed.token !== undefined) throw authFault('InvalidToken', {})
  const verified = (credential: Credential): Authenticated => {
    const payload = check(signingKey(by.scheme, credential, scope), scope)
    return { caller: callerOf(credential), payload, region: scope.region, signatureVersion: 'SVC4-HMAC-SHA256' }
  }
  const credential = findCredential(parsed.scope.accessKey, by)
  return credential instanceof Promise ? credential.then(verified) : verified(credential)
}

function checkSignature(canonical: Canonical, parsed: ParsedSignature, scheme: Scheme, key: SigningKey): void {
  const text = stringToSign(sha256Hex(canonicalRequest(canonical)), parsed, scheme)
  if (!sameSignature(hmac(key, text), parsed.signature) && !isSignedOtherwise(canonical, parsed, scheme, key)) {
    throw mismatch(canonical, parsed, text)
  }
}

interface SignatureFound {
  readonly parsed: ParsedSignature | 'version 2' | undefined
  readonly canonicalQuery: string
}

function parseSignature(
  fields: HeaderFields,
  query: string,
  { scheme, sigV2 = false }: Authentication,
): SignatureFound {
  const authorization = fields.get('authorization')
  const cached = authorization === undefined ? cachedQuerySignature(query, fields, scheme) : undefined
  if (cached !== undefined) return cached
  const pairs = canonicalPairs(queryIn(scheme, query))
  const text = canonicalQuery(pairs)
  // Most requests have no query, and so no signature in it.
  const presigned = pairs.length > 0 && isPresigned(pairs, scheme)
  const other = scheme.name === 'svc' ? SCHEMES.s3 : SCHEMES.svc
  const old = pairs.length > 0 ? oldQuerySignature(pairs) : undefined
  const foreign = old !== undefined || (pairs.length > 0 && isPresigned(pairs, other))
  if (Number(authorization !== undefined) + Number(presigned) + Number(foreign) > 1) {
    throw authFault('InvalidArgument', {
      ArgumentName: 'Authorization',
      reason: 'Only one auth mechanism allowed: a signature in the query or the Authorization header.',
    })
  }
  if (old === 's3' && scheme.name === 's3' && sigV2 && !isPresigned(pairs, other)) {
    return { parsed: 'version 2', canonicalQuery: text }
  }
  if (foreign) throw otherScheme(scheme)
  if (presigned) return parseQuerySignature(pairs, fields, scheme)
  const parsed = authorization === undefined ? undefined : parseHeaderSignature(authorization, fields, scheme)
  return { parsed, canonicalQuery: text }
}

/** The host and every dialect header must be signed, since an intermediary could add or change unsigned ones. */
function checkSignedHeaders(fields: HeaderFields, signed: SignedHeaders, scheme: Scheme): void {
  const missing = signed.set.has('host') ? [] : ['host']
  for (const name of fields.keys()) {
    if (name.startsWith(scheme.headerPrefix) && !signed.set.has(name)) missing.push(name)
  }
  if (missing.length > 0) {
    throw new Fault('AccessDenied', {
      reason: 'There were headers present in the request which were not signed',
      HeadersNotSigned: missing.join(', '),
    })
  }
  if (signed.names.some(name => !fields.has(name))) {
    throw new Fault('AccessDenied', { reason: 'There were headers signed which are not present in the request' })
  }
}

function checkTime(
  parsed: ParsedSignature,
  { now, clientTimes = [] }: Pick<Authentication, 'now' | 'clientTimes'>,
): void {
  const { timestamp, presigned } = parsed
  if (presigned === undefined) {
    const isFresh = (time: number): boolean => Math.abs(time - timestamp.ms) <= SKEW_MS_MAX
    if (isFresh(now) || clientTimes.some(isFresh)) return
    throw new Fault('RequestTimeTooSkewed', {
      RequestTime: timestamp.text,
      ServerTime: isoText(now),
      MaxAllowedSkewMilliseconds: SKEW_MS_MAX,
    })
  }
  if (timestamp.ms > Math.max(now, ...clientTimes) + SKEW_MS_MAX) {
    throw new Fault('AccessDenied', { reason: 'Request is not yet valid', ServerTime: isoText(now) })
  }
  const end = timestamp.ms + presigned.seconds * 1000
  if (now < end) return
  throw new Fault('AccessDenied', {
    reason: 'Request has expired',
    'X-Svc-Expires': presigned.seconds,
    Expires: isoText(end),
    ServerTime: isoText(now),
  })
}

/** The credential scope must be this server's: a signature for another service or region is not valid here. */
export function checkScope(
  parsed: Pick<ParsedSignature, 'scope' | 'timestamp' | 'malformed'>,
  by: Pick<Authentication, 'scheme' | 'region' | 'anyRegion'>,
): Scope {
  const { date, region, service, terminator } = parsed.scope
  const day = parsed.timestamp.text.slice(0, 8)
  if (date !== day) {
    throw parsed.malformed(`Invalid credential date "${date}". This date is not the same as the request's: "${day}".`)
  }
  if (region !== by.region && !(by.anyRegion === true && isRegionName(region))) {
    const reason = `the region '${region}' is wrong; expecting '${by.region}'`
    // D28. 400 in every dialect: the response names the region, and the client signs again for it.
    throw parsed.malformed(reason, { Region: by.region, authentication: false })
  }
  if (service !== by.scheme.service) {
    throw parsed.malformed(`incorrect service "${service}". This endpoint belongs to "${by.scheme.service}".`)
  }
  if (terminator !== by.scheme.terminator) {
    throw parsed.malformed(`incorrect terminal "${terminator}". This endpoint uses "${by.scheme.terminator}".`)
  }
  parsed.scope.checked ??= scopeOf(by.scheme, date, region)
  return parsed.scope.checked
}

function stringToSign(canonicalHash: string, parsed: ParsedSignature, scheme: Scheme): string {
  const { date, region, service, terminator } = parsed.scope
  return `${scheme.algorithm}\n${parsed.timestamp.text}\n${date}/${region}/${service}/${terminator}\n${canonicalHash}`
}

/**
 * Some S3 clients send another spelling of the path than they sign, as S3 permits: unescaped bytes, or `/%2F` for two
 * slashes, one of which their HTTP library would drop. Both spellings name the same key. In svc a path must be signed
 * as it is sent.
 */
function isSignedOtherwise(canonical: Canonical, parsed: ParsedSignature, scheme: Scheme, key: SigningKey): boolean {
  if (scheme.name === 'svc') return false
  const path = escapedPath(canonical.path.replaceAll('/%2F', '//'))
  if (path === canonical.path) return false
  const hash = sha256Hex(canonicalRequest({ ...canonical, path }))
  return sameSignature(hmac(key, stringToSign(hash, parsed, scheme)), parsed.signature)
}

// Faults are logged, so secrets are masked even towards the client that sent them.
const SECRET_HEADER = /-customer-key(-md5)?$|-security-token$/

const bytesText = (text: string): string =>
  Buffer.from(text, 'latin1')
    .toString('hex')
    .replace(/..(?=.)/g, '$& ')

/** Shows the client the text that the server signed, so that the difference can be found. */
function mismatch(canonical: Canonical, parsed: ParsedSignature, text: string): Fault {
  const fields = new Map(canonical.fields)
  for (const name of fields.keys()) if (SECRET_HEADER.test(name)) fields.set(name, '***')
  const shown = canonicalRequest({ ...canonical, fields })
  return new Fault('SignatureDoesNotMatch', {
    SvcAccessKeyId: parsed.scope.accessKey,
    StringToSign: text,
    StringToSignBytes: bytesText(text),
    SignatureProvided: parsed.signature,
    CanonicalRequest: shown,
    CanonicalRequestBytes: bytesText(shown),
  })
}
