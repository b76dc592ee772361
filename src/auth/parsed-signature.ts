/**
 * The authentication that a request declares in its headers, before anything is verified: its signature, and how its
 * body must be checked, which is applied while the body is read. Presigned URLs carry the same values in the query
 * (`presigned-signature.ts`) and report errors differently.
 */

import { BodyDigest } from '../digest/body-digest.ts'
import { headerValues, type RawRequest, splitTarget } from '../http/raw-request.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { ParseCache } from '../lib/parse-cache.ts'
import type { Caller, Credential } from '../model/caller.ts'
import { Fault, type FaultDetails } from '../model/faults.ts'
import type { SignatureChain } from './chunk-signatures.ts'
import { type ChunkRule, decodeChunks } from './chunked-body.ts'
import { authFault } from './refusal.ts'
import { type SignedHeaders, signedHeadersIn } from './signed-headers.ts'
import {
  basicTimestamp,
  canonicalPairs,
  dateHeader,
  decodeCanonical,
  EMPTY_SHA256,
  type HeaderFields,
  isSignature,
  SCHEMES,
  type Scheme,
  type Scope,
  SIGNATURE_DIGITS,
  type Timestamp,
  UNSIGNED_CHUNKS_TRAILER,
  UNSIGNED_PAYLOAD,
} from './signing.ts'

interface ParsedCredential {
  readonly accessKey: string
  readonly date: string
  readonly region: string
  readonly service: string
  readonly terminator: string
  /** Once it was found to be this server's. */
  checked?: Scope
}

export interface ParsedSignature {
  readonly scope: ParsedCredential
  readonly timestamp: Timestamp
  readonly signedHeaders: SignedHeaders
  readonly signature: string
  readonly contentHash: string
  /** The validity of a presigned request. */
  readonly presigned: { readonly seconds: number } | undefined
  /** A temporary credential's token. */
  readonly token: string | undefined
  malformed(reason: string, detail?: FaultDetails): Fault
}

/** `key/date/region/service/terminator`. */
export function parseCredential(credential: string): ParsedCredential | undefined {
  const parts = credential.split('/', 6)
  if (parts.length !== 5 || parts.includes('')) return undefined
  const [accessKey, date, region, service, terminator] = parts as [string, string, string, string, string]
  return { accessKey, date, region, service, terminator }
}

/** Longer access keys are not looked up. */
export const ACCESS_KEY_CHARACTERS_MAX = 128

export interface CredentialLookup {
  /** Undefined for a key that is unknown, disabled or deleted. */
  findCredential(accessKey: string): MaybePromise<Credential | undefined>
}

export function findCredential(accessKey: string, by: CredentialLookup): MaybePromise<Credential> {
  const found = accessKey.length > ACCESS_KEY_CHARACTERS_MAX ? undefined : by.findCredential(accessKey)
  return found instanceof Promise
    ? found.then(credential => requireCredential(accessKey, credential))
    : requireCredential(accessKey, found)
}

function requireCredential(accessKey: string, credential: Credential | undefined): Credential {
  if (credential === undefined) throw new Fault('InvalidAccessKeyId', { SvcAccessKeyId: accessKey })
  return credential
}

/** The caller that a verified credential proves. */
export function callerOf({ account, user, accessKey }: Credential): Caller {
  return user === undefined ? { kind: 'account', account, accessKey } : { kind: 'user', account, user, accessKey }
}

const headerMalformed = (reason: string, detail: FaultDetails = {}): Fault =>
  authFault('AuthorizationHeaderMalformed', { ...detail, reason: `The authorization header is malformed; ${reason}` })

const PARTS = ['Credential', 'SignedHeaders', 'Signature']

/** The three named parts after the algorithm, each exactly once, in any order. */
function authorizationParts(text: string): [credential: string, signedHeaders: string, signature: string] {
  const found: (string | undefined)[] = [undefined, undefined, undefined]
  for (const piece of text.split(',')) {
    const equals = piece.indexOf('=')
    const place = equals < 0 ? -1 : PARTS.indexOf(piece.slice(0, equals).trim())
    if (place < 0 || found[place] !== undefined) throw partsMalformed()
    found[place] = piece.slice(equals + 1).trim()
  }
  const [credential, signedHeaders, signature] = found
  if (credential === undefined || signedHeaders === undefined || signature === undefined) throw partsMalformed()
  return [credential, signedHeaders, signature]
}

const partsMalformed = (): Fault => headerMalformed(`it must have ${PARTS.join(', ')}, each once, and nothing else.`)

/** A parsed Authorization header. */
export interface Authorization {
  readonly scheme: Scheme
  readonly scope: ParsedCredential
  readonly signedHeaders: SignedHeaders
  readonly signature: string
}

function readAuthorization(text: string, scheme: Scheme): Authorization {
  const { algorithm } = scheme
  // Only a space may follow the name; anything else makes it a different name.
  if (!text.startsWith(algorithm) || (text[algorithm.length] ?? ' ') !== ' ') throw otherAuthorization(text, scheme)
  if (text.length === algorithm.length) throw otherAuthorization(text, scheme)
  const [credential, signedHeaders, signature] = authorizationParts(text.slice(algorithm.length + 1))
  const scope = parseCredential(credential)
  if (scope === undefined) throw headerMalformed(expectedCredential(scheme))
  return { scheme, scope, signedHeaders: signedHeadersIn(signedHeaders), signature }
}

/** The credential a request names, even if the rest of its signature is malformed. */
export function requestedCredential(request: RawRequest, scheme: Scheme): ParsedCredential | undefined {
  const [authorization] = headerValues(request, 'authorization')
  if (authorization === undefined) {
    const pairs = canonicalPairs(splitTarget(request.target).query)
    const found = pairs.find(({ name }) => name === `${scheme.queryPrefix}Credential`)
    return found && parseCredential(decodeCanonical(found.value))
  }
  try {
    return readAuthorization(authorization, scheme).scope
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}

/** The signature follows as a separate last part. */
const BEFORE_SIGNATURE = /, *Signature=$/

/** The text before a signature does not depend on it. */
const NO_SIGNATURE = '0'.repeat(SIGNATURE_DIGITS)

/** A header whose last part is the signature, without its digits; undefined for another order. */
export function authorizationBefore(head: string, scheme: Scheme): Authorization | undefined {
  return BEFORE_SIGNATURE.test(head) ? readAuthorization(head + NO_SIGNATURE, scheme) : undefined
}

/** Anyone can fill it, and a list of short names takes twenty times the memory of its text. */
const HEADS_CHARACTERS_MAX = 2 ** 17

const headsOf = (scheme: Scheme): ParseCache<Authorization> =>
  new ParseCache(head => readAuthorization(head + NO_SIGNATURE, scheme), HEADS_CHARACTERS_MAX)

/** By the text before a final signature, which a client repeats in every request. */
const cachedHeads = { svc: headsOf(SCHEMES.svc), s3: headsOf(SCHEMES.s3) }

/** Equals parsing it: a signature at the end does not affect the text before it. */
function authorizationOf(text: string, scheme: Scheme): Authorization {
  const head = text.slice(0, -SIGNATURE_DIGITS)
  const signature = text.slice(-SIGNATURE_DIGITS)
  if (!isSignature(signature) || !BEFORE_SIGNATURE.test(head)) return readAuthorization(text, scheme)
  return { ...cachedHeads[scheme.name].get(head), signature }
}

export function parseHeaderSignature(authorization: string, fields: HeaderFields, scheme: Scheme): ParsedSignature {
  const parsed = authorizationOf(authorization, scheme)
  const contentHash = fields.get(`${scheme.headerPrefix}content-sha256`)
  if (contentHash === undefined) {
    throw new Fault('InvalidRequest', {
      reason: `Missing required header for this request: ${scheme.headerPrefix}content-sha256`,
    })
  }
  return signatureInHeader(parsed, {
    timestamp: headerTimestamp(fields, scheme),
    contentHash,
    token: fields.get(`${scheme.headerPrefix}security-token`),
  })
}

export function signatureInHeader(
  { scope, signedHeaders, signature }: Authorization,
  { timestamp, contentHash, token }: Pick<ParsedSignature, 'timestamp' | 'contentHash' | 'token'>,
): ParsedSignature {
  const malformed = headerMalformed
  return { scope, timestamp, signedHeaders, signature, contentHash, presigned: undefined, token, malformed }
}

/** R9. The dialect's date header, or the plain one where that is not sent. */
function headerTimestamp(fields: HeaderFields, scheme: Scheme): Timestamp {
  const own = fields.get(`${scheme.headerPrefix}date`)
  const timestamp = own === undefined ? dateHeader(fields.get('date') ?? '') : basicTimestamp(own)
  if (timestamp !== undefined) return timestamp
  throw new Fault('AccessDenied', {
    reason: `Authentication requires a valid Date or ${scheme.headerPrefix}date header`,
  })
}

export const otherScheme = (scheme: Scheme): Fault =>
  authFault('InvalidRequest', {
    reason: `The authorization mechanism you have provided is not supported. Please use ${scheme.algorithm}.`,
  })

/** S3 distinguishes an older signature version from an unknown authorization type. */
function otherAuthorization(text: string, scheme: Scheme): Fault {
  if (/^AWS4?(-[A-Z0-9-]+)? ./.test(text) || /^SVC4-[A-Z0-9-]+ ./.test(text)) return otherScheme(scheme)
  const reason = text.includes(' ')
    ? 'Unsupported Authorization Type'
    : "Authorization header is invalid -- one and only one ' ' (space) required"
  // The value is not shown, since it may be a password.
  return authFault('InvalidArgument', { ArgumentName: 'Authorization', reason })
}

export const expectedCredential = (scheme: Scheme): string =>
  `the Credential is mal-formed; expecting "<YOUR-AKID>/YYYYMMDD/REGION/${scheme.service}/${scheme.terminator}".`

export type PayloadRule = { readonly kind: 'unsigned' } | { readonly kind: 'sha256'; readonly hex: string } | ChunkRule

/** The kind of body that the content hash header declares. */
export type DeclaredPayload =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'sha256'; readonly hex: string }
  | { readonly kind: 'chunks'; readonly signed: boolean; readonly trailer: boolean }

const SHA256_HEX = /^[0-9a-fA-F]{64}$/
const NO_BODY: DeclaredPayload = { kind: 'sha256', hex: EMPTY_SHA256 }

export function declaredPayload(contentHash: string, scheme: Scheme): DeclaredPayload {
  if (contentHash === EMPTY_SHA256) return NO_BODY
  if (SHA256_HEX.test(contentHash)) return { kind: 'sha256', hex: contentHash.toLowerCase() }
  if (contentHash === UNSIGNED_PAYLOAD) return { kind: 'unsigned' }
  if (contentHash === UNSIGNED_CHUNKS_TRAILER) return { kind: 'chunks', signed: false, trailer: true }
  if (contentHash === scheme.signedChunks) return { kind: 'chunks', signed: true, trailer: false }
  if (contentHash === scheme.signedChunksTrailer) return { kind: 'chunks', signed: true, trailer: true }
  const name = `${scheme.headerPrefix}content-sha256`
  const words = [UNSIGNED_PAYLOAD, UNSIGNED_CHUNKS_TRAILER, scheme.signedChunks, scheme.signedChunksTrailer]
  throw new Fault('InvalidArgument', {
    ArgumentName: name,
    ArgumentValue: contentHash,
    reason: `${name} must be ${words.join(', ')} or a valid sha256 value.`,
  })
}

export function payloadRule(
  declared: DeclaredPayload,
  request: { readonly fields: HeaderFields; readonly scheme: Scheme; readonly chain: SignatureChain | undefined },
): PayloadRule {
  const { fields, scheme, chain } = request
  const trailerHeader = fields.get(`${scheme.headerPrefix}trailer`)
  if (declared.kind !== 'chunks' || !declared.trailer) {
    // A declared checksum that cannot arrive must not be dropped silently.
    if (trailerHeader !== undefined) throw trailerNotSupported(scheme)
  }
  if (declared.kind !== 'chunks') return declared
  return {
    kind: 'chunks',
    chain: declared.signed ? chain : undefined,
    declared: declared.trailer ? declaredTrailers(trailerHeader ?? '', scheme) : undefined,
    trailers: new Map(),
    decodedLength: decodedLength(fields, scheme),
  }
}

/** Anonymous clients declare chunks by the content coding alone. */
export function anonymousPayload(fields: HeaderFields, scheme: Scheme): PayloadRule {
  const contentHash = fields.get(`${scheme.headerPrefix}content-sha256`)
  const codings = (fields.get('content-encoding') ?? '').split(',').map(coding => coding.trim())
  const isChunked = codings.includes(scheme.chunkEncoding)
  const hasTrailer = fields.has(`${scheme.headerPrefix}trailer`)
  const declared: DeclaredPayload =
    contentHash !== undefined
      ? declaredPayload(contentHash, scheme)
      : isChunked
        ? { kind: 'chunks', signed: false, trailer: hasTrailer }
        : { kind: 'unsigned' }
  if (declared.kind === 'chunks' && declared.signed) {
    throw authFault('InvalidRequest', { reason: 'A body in signed chunks requires a signed request.' })
  }
  return payloadRule(declared, { fields, scheme, chain: undefined })
}

const trailerNotSupported = (scheme: Scheme): Fault =>
  new Fault('InvalidRequest', {
    reason: `The value specified in the ${scheme.headerPrefix}trailer header is not supported`,
  })

const CHECKSUM = /^checksum-(crc32|crc32c|crc64nvme|sha1|sha256)$/

function declaredTrailers(header: string, scheme: Scheme): ReadonlySet<string> {
  const names = header
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '')
  for (const name of names) {
    const isChecksum = name.startsWith(scheme.headerPrefix) && CHECKSUM.test(name.slice(scheme.headerPrefix.length))
    if (!isChecksum) throw trailerNotSupported(scheme)
  }
  return new Set(names)
}

function decodedLength(fields: HeaderFields, scheme: Scheme): number {
  const name = `${scheme.headerPrefix}decoded-content-length`
  const text = fields.get(name)
  if (text === undefined) throw new Fault('MissingContentLength', {})
  const length = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(length)) return length
  throw new Fault('InvalidArgument', { ArgumentName: name, ArgumentValue: text })
}

/**
 * The decoded body, which fails when it does not match its signature or hash. A consumer must reach the end before
 * anything takes effect: only then are all checks complete.
 */
export function checkedBody(body: AsyncIterable<Buffer>, rule: PayloadRule): AsyncIterable<Buffer> {
  if (rule.kind === 'chunks') return decodeChunks(body, rule)
  if (rule.kind === 'sha256') return hashedBody(body, rule.hex)
  return body
}

async function* hashedBody(body: AsyncIterable<Buffer>, expected: string): AsyncGenerator<Buffer, void> {
  const hash = new BodyDigest('sha256')
  try {
    for await (const piece of body) {
      const hashing = hash.update(piece)
      if (hashing !== undefined) await hashing
      yield piece
    }
    const computed = (await hash.digest()).toString('hex')
    if (computed !== expected) {
      throw new Fault('XSvcContentSHA256Mismatch', {
        ClientComputedContentSHA256: expected,
        SvcComputedContentSHA256: computed,
      })
    }
  } finally {
    hash.abandon()
  }
}
