/**
 * The parts of a Signature Version 4: the names of its two schemes, canonical request, signing key, HMAC and timestamp.
 * Client and server hash the canonical request, so that a signature covers method, path, query and the signed headers.
 * It is built from the bytes as sent; text is latin1 throughout, one character per byte.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { oneShotHash } from '../digest/one-shot-hash.ts'
import { headerValue, type RawRequest, splitTarget } from '../http/raw-request.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Credential } from '../model/caller.ts'
import type { SignedHeaders } from './signed-headers.ts'

/** The schemes differ only in these names; the edge detects which one a request uses and passes it in. */
export interface Scheme {
  readonly name: 'svc' | 's3'
  readonly algorithm: string
  /** Prefix of the secret in the derivation of a signing key. */
  readonly keyPrefix: string
  readonly service: string
  readonly terminator: string
  /** Prefix of the dialect's headers, form fields and trailers, up to the second hyphen. */
  readonly headerPrefix: string
  readonly queryPrefix: string
  /** Matches a query with any parameter of a signature, complete or not. */
  readonly queryMarks: RegExp
  /** The content coding that announces a body in chunks. */
  readonly chunkEncoding: string
  /** Values of the content hash header that announce signed chunks. */
  readonly signedChunks: string
  readonly signedChunksTrailer: string
  /** First lines of the strings to sign of chunks and trailers. */
  readonly chunkAlgorithm: string
  readonly trailerAlgorithm: string
}

export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD'
export const UNSIGNED_CHUNKS_TRAILER = 'STREAMING-UNSIGNED-PAYLOAD-TRAILER'

function scheme(words: {
  name: Scheme['name']
  version: string
  service: string
  vendor: string
  token: string
  chunkEncoding: string
}): Scheme {
  const algorithm = `${words.version}-HMAC-SHA256`
  return {
    name: words.name,
    algorithm,
    keyPrefix: words.version,
    service: words.service,
    terminator: `${words.version.toLowerCase()}_request`,
    headerPrefix: `x-${words.token}-`,
    queryPrefix: `X-${words.vendor}-`,
    queryMarks: new RegExp(`(^|&)X-${words.vendor}-(Algorithm|Credential|Signature)=`),
    chunkEncoding: words.chunkEncoding,
    signedChunks: `STREAMING-${algorithm}-PAYLOAD`,
    signedChunksTrailer: `STREAMING-${algorithm}-PAYLOAD-TRAILER`,
    chunkAlgorithm: `${algorithm}-PAYLOAD`,
    trailerAlgorithm: `${algorithm}-TRAILER`,
  }
}

/** In S3 a plus in a query is a space, as in forms; in svc it is a plus, as in the rest of a URL. */
export const queryIn = ({ name }: Scheme, query: string): string =>
  name === 's3' && query.includes('+') ? query.replaceAll('+', '%20') : query

export const SCHEMES: { readonly svc: Scheme; readonly s3: Scheme } = {
  svc: scheme({
    name: 'svc',
    version: 'SVC4',
    service: 'svc',
    vendor: 'Svc',
    token: 'svc',
    chunkEncoding: 'svc-chunked',
  }),
  s3: scheme({
    name: 's3',
    version: 'AWS4',
    service: 's3',
    vendor: 'Amz',
    token: 'amz',
    chunkEncoding: 'aws-chunked',
  }),
}

const ALL = [SCHEMES.svc, SCHEMES.s3]

const ESCAPED_NAME = /(^|&)[^=&]*%/
const EACH_NAME = /(^|&)[^=&]*/g
const ESCAPED_LETTER = /%(2[dD]|[46][1-9a-fA-F]|[57][0-9aA])/g

/** Unescapes letters in parameter names: a signature is the same for all spellings. */
function withPlainNames(query: string): string {
  const plain = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16))
  return query.replace(EACH_NAME, name => name.replace(ESCAPED_LETTER, plain))
}

/** Whether a query has any part of a signature of this scheme. */
export const isSignedIn = (query: string, { queryMarks }: Scheme): boolean =>
  queryMarks.test(query) || (ESCAPED_NAME.test(query) && queryMarks.test(withPlainNames(query)))

/** The scheme of a request's signature; undefined when it has none or an unknown one. */
export function schemeNamedBy(request: RawRequest): Scheme | undefined {
  const authorization = headerValue(request, 'authorization')
  if (authorization !== undefined) for (const one of ALL) if (authorization.startsWith(one.algorithm)) return one
  const { query } = splitTarget(request.target)
  return query === '' ? undefined : ALL.find(one => isSignedIn(query, one))
}

/** Headers by lower-case name; values of one name joined by commas in the order sent. */
export type HeaderFields = ReadonlyMap<string, string>

export interface QueryPair {
  /** Both percent-encoded in the canonical way. */
  readonly name: string
  readonly value: string
}

// Space and tab only: in latin1 a byte of a UTF-8 sequence may look like other white space.
const RUN = /[ \t]+/g

const isCollapsed = (value: string): boolean =>
  !value.includes('  ') && !value.includes('\t') && !value.startsWith(' ') && !value.endsWith(' ')

/** Trims the ends and collapses white space to single spaces. */
function collapseSpaces(value: string): string {
  if (isCollapsed(value)) return value
  const collapsed = value.replace(RUN, ' ')
  const start = collapsed.startsWith(' ') ? 1 : 0
  const end = collapsed.length > start && collapsed.endsWith(' ') ? collapsed.length - 1 : collapsed.length
  return collapsed.slice(start, end)
}

/** Requests that repeat the fields of the one before share them, too. */
const fieldsOf = memoizeLast((headers: RawRequest['headers']): HeaderFields => {
  const fields = new Map<string, string>()
  for (const [sent, value] of headers) {
    const name = sent.toLowerCase()
    const before = fields.get(name)
    fields.set(name, before === undefined ? collapseSpaces(value) : `${before},${collapseSpaces(value)}`)
  }
  return fields
})

export const canonicalFields = (request: RawRequest): HeaderFields => fieldsOf(request.headers)

const UNRESERVED = /^[A-Za-z0-9\-._~]*$/
/** Unreserved characters, and escapes in upper case of all other bytes. */
const CANONICAL = /^(?:[A-Za-z0-9\-._~]|%(?:[0189A-F][0-9A-F]|2[0-9A-CF]|3[A-F]|[46]0|5[B-E]|7[BCDF]))*$/
const ESCAPED_OR_RESERVED = /%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~]/g

const hexByte = (byte: number): string => `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`

/** Decodes once and encodes canonically. A plus stays a plus; a percent sign that starts no escape is literal. */
function reencode(text: string): string {
  if (CANONICAL.test(text)) return text
  return text.replace(ESCAPED_OR_RESERVED, (found, hex: string | undefined) => {
    const byte = hex === undefined ? found.charCodeAt(0) : Number.parseInt(hex, 16)
    const character = String.fromCharCode(byte)
    return UNRESERVED.test(character) ? character : hexByte(byte)
  })
}

const ESCAPE_BEYOND_ASCII = /%[89A-F]/

/** Undoes `reencode`. */
export function decodeCanonical(text: string): string {
  if (!text.includes('%')) return text
  if (!ESCAPE_BEYOND_ASCII.test(text)) return decodeURIComponent(text)
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const BARE = /[^A-Za-z0-9\-._~/%]/g

/** Percent-encodes the bytes of a path that need it; existing escapes are kept. */
export const escapedPath = (path: string): string => path.replace(BARE, found => hexByte(found.charCodeAt(0)))

/** Sorted by encoded name, then by encoded value. */
export function canonicalPairs(query: string): QueryPair[] {
  if (query === '') return []
  const pairs: QueryPair[] = []
  for (const piece of query.split('&')) {
    if (piece === '') continue
    const equals = piece.indexOf('=')
    pairs.push({
      name: reencode(equals < 0 ? piece : piece.slice(0, equals)),
      value: equals < 0 ? '' : reencode(piece.slice(equals + 1)),
    })
  }
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  if (pairs.length > 1) pairs.sort((a, b) => order(a.name, b.name) || order(a.value, b.value))
  return pairs
}

export interface Canonical {
  readonly method: string
  /** Never empty. */
  readonly path: string
  /** As `canonicalQuery` returns it. */
  readonly query: string
  readonly fields: HeaderFields
  /** All of them are present in `fields`. */
  readonly signedHeaders: SignedHeaders
  /** The content hash header: the hash of the body, or a word such as UNSIGNED-PAYLOAD. */
  readonly contentHash: string
}

/** `unsignedPair` is the query name of the signature itself, which it cannot cover. */
export function canonicalQuery(pairs: readonly QueryPair[], unsignedPair?: string): string {
  let query = ''
  for (const { name, value } of pairs) {
    if (name !== unsignedPair) query += query === '' ? `${name}=${value}` : `&${name}=${value}`
  }
  return query
}

export function canonicalRequest(from: Canonical): string {
  let headers = ''
  for (const name of from.signedHeaders.names) headers += `${name}:${from.fields.get(name)}\n`
  return `${from.method}\n${from.path}\n${from.query}\n${headers}\n${from.signedHeaders.text}\n${from.contentHash}`
}

export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const BEYOND_ASCII = /[\u0080-\u00ff]/

/** SHA-256 of latin1 text. Most of it is ASCII, which the runtime hashes without an intermediate buffer. */
export function sha256Hex(text: string): string {
  return oneShotHash('sha256', BEYOND_ASCII.test(text) ? Buffer.from(text, 'latin1') : text, 'hex')
}

const BLOCK_BYTES = 64
const DIGEST_BYTES = 32
/** The longest UTF-8 encoding of one UTF-16 unit. */
const UTF8_BYTES_MAX = 3

/**
 * A prepared HMAC key: the two padded key blocks are computed once, and hashing them with the text in one call costs
 * half as much as an HMAC object per signature.
 */
export class SigningKey {
  readonly bytes: Buffer
  readonly inner = Buffer.alloc(BLOCK_BYTES, 0x36)
  /** With space for the inner digest after the block. */
  readonly outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES, 0x5c)

  /** `bytes` is a derived key, which is shorter than a block. */
  constructor(bytes: Buffer) {
    this.bytes = bytes
    for (const [i, byte] of bytes.entries()) {
      this.inner[i]! ^= byte
      this.outer[i]! ^= byte
    }
  }
}

/** Grows to the longest text to sign. Signing is synchronous, so one buffer serves all. */
let room = Buffer.alloc(1024)

/** HMAC-SHA-256 in hexadecimal digits. */
export function hmac(key: SigningKey, text: string): string {
  const bytesMax = BLOCK_BYTES + UTF8_BYTES_MAX * text.length
  if (bytesMax > room.length) room = Buffer.alloc(2 * bytesMax)
  room.set(key.inner)
  const bytes = BLOCK_BYTES + room.write(text, BLOCK_BYTES)
  key.outer.write(oneShotHash('sha256', room.subarray(0, bytes), 'binary'), BLOCK_BYTES, 'latin1')
  return oneShotHash('sha256', key.outer, 'hex')
}

/** The credential scope: a day, a region and a service. */
export interface Scope {
  readonly date: string
  readonly region: string
  readonly text: string
  /** The last key in this scope, for clients that sign again and again in the same one. */
  lastKey?: { readonly credential: Credential; readonly key: SigningKey }
}

export function scopeOf(scheme: Scheme, date: string, region: string): Scope {
  return { date, region, text: `${date}/${region}/${scheme.service}/${scheme.terminator}` }
}

const CACHED_KEYS_MAX = 4096

interface CachedKey {
  readonly secretKey: string
  readonly key: SigningKey
}

/** Deriving a key takes four rounds; a client uses the same one all day. */
const cached = new Map<string, CachedKey>()

/** The key for a credential within a scope. */
export function derivedKey(scheme: Scheme, credential: Credential, scope: Scope): SigningKey {
  let key: Buffer | string = scheme.keyPrefix + credential.secretKey
  for (const word of [scope.date, scope.region, scheme.service, scheme.terminator]) {
    key = createHmac('sha256', key).update(word).digest()
  }
  return new SigningKey(key as Buffer)
}

/** Cached; an entry for an old secret is replaced. */
export function signingKey(scheme: Scheme, credential: Credential, scope: Scope): SigningKey {
  if (scope.lastKey?.credential !== credential)
    scope.lastKey = { credential, key: cachedKey(scheme, credential, scope) }
  return scope.lastKey.key
}

function cachedKey(scheme: Scheme, credential: Credential, scope: Scope): SigningKey {
  const { accessKey, secretKey } = credential
  const name = `${accessKey}/${scope.text}`
  const known = cached.get(name)
  if (known?.secretKey === secretKey) return known.key
  const key = derivedKey(scheme, credential, scope)
  cached.delete(name)
  if (cached.size >= CACHED_KEYS_MAX) cached.delete(cached.keys().next().value!)
  cached.set(name, { secretKey, key })
  return key
}

export const SIGNATURE_DIGITS = 64
const SIGNATURE = /^[0-9a-f]{64}$/

/** Whether the text has the form of a signature. */
export const isSignature = (text: string): boolean => SIGNATURE.test(text)

const ours = Buffer.alloc(SIGNATURE_DIGITS)
const theirs = Buffer.alloc(SIGNATURE_DIGITS)

/** Compares signatures in constant time. */
export function sameSignature(expected: string, provided: string): boolean {
  if (expected.length !== SIGNATURE_DIGITS) throw new RangeError(`expected a signature of ${SIGNATURE_DIGITS} digits`)
  if (provided.length !== SIGNATURE_DIGITS) return false
  ours.write(expected, 'latin1')
  theirs.write(provided, 'latin1')
  // Characters beyond latin1 lose bits when they are written, so equal bytes may come from another text.
  return timingSafeEqual(ours, theirs) && provided === expected
}

/** A request's time, which it sends in one of two formats. */
export interface Timestamp {
  /** As in the signed text: `yyyymmddThhmmssZ`. */
  readonly text: string
  readonly ms: number
}

const BASIC = /^\d{8}T\d{6}Z$/
const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

export const basicText = (ms: number): string => new Date(ms).toISOString().replace(/[-:]|\.\d{3}/g, '')

export const isoText = (ms: number): string => new Date(ms).toISOString()

/** Parses `yyyymmddThhmmssZ`; undefined when it is not a valid time. Requests of one second have the same. */
export const basicTimestamp = memoizeLast(parseTimestamp)

function parseTimestamp(text: string): Timestamp | undefined {
  if (!BASIC.test(text)) return undefined
  const digits = (start: number, end: number): number => Number(text.slice(start, end))
  const [year, month, day] = [digits(0, 4), digits(4, 6), digits(6, 8)]
  const [hour, minute, second] = [digits(9, 11), digits(11, 13), digits(13, 15)]
  // Date.UTC maps years below 100 to 19xx.
  if (year < 1000 || month < 1 || month > 12 || hour > 23 || minute > 59 || second > 59) return undefined
  const ms = Date.UTC(year, month - 1, day, hour, minute, second)
  // Date.UTC rolls day 31 of a shorter month over to the next month.
  return new Date(ms).getUTCDate() === day ? { text, ms } : undefined
}

/** Parses a `Date` header in either format. */
export function dateHeader(text: string): Timestamp | undefined {
  if (!HTTP_DATE.test(text)) return basicTimestamp(text)
  const ms = Date.parse(text)
  return Number.isNaN(ms) ? undefined : { text: basicText(ms), ms }
}
