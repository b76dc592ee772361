/**
 * Parses the authentication of a request before anything is verified. The header form and the presigned form carry the
 * same values in different places and report errors differently.
 */
import { headerValues, type RawRequest, splitTarget } from '../http/raw-request.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Credential } from '../model/caller.ts'
import { Fault, type FaultDetails } from '../model/faults.ts'
import type { Authentication } from './authentication.ts'
import { authFault } from './refusal.ts'
import { SCHEMES, type Scheme, UNSIGNED_PAYLOAD } from './schemes.ts'
import {
  basicTimestamp,
  canonicalPairs,
  dateHeader,
  decodeCanonical,
  type HeaderFields,
  type QueryPair,
  type SignedHeaders,
  signedHeadersIn,
  type Timestamp,
} from './signing.ts'

interface ParsedCredential {
  readonly accessKey: string
  readonly date: string
  readonly region: string
  readonly service: string
  readonly terminator: string
}

export interface ParsedSignature {
  readonly scope: ParsedCredential
  readonly timestamp: Timestamp
  readonly signedHeaders: SignedHeaders
  readonly signature: string
  readonly contentHash: string
  /** For a presigned request: its validity, and the query name of its signature. */
  readonly presigned: { readonly seconds: number; readonly signatureName: string } | undefined
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

export function findCredential(
  accessKey: string,
  by: Pick<Authentication, 'findCredential'>,
): MaybePromise<Credential> {
  const found = accessKey.length > ACCESS_KEY_CHARACTERS_MAX ? undefined : by.findCredential(accessKey)
  return found instanceof Promise
    ? found.then(credential => requireCredential(accessKey, credential))
    : requireCredential(accessKey, found)
}

function requireCredential(accessKey: string, credential: Credential | undefined): Credential {
  if (credential === undefined) throw new Fault('InvalidAccessKeyId', { SvcAccessKeyId: accessKey })
  return credential
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
interface Authorization {
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

const REMEMBERED_MAX = 1024
/** Parsed headers by their text before a final signature, which a client repeats in every request. */
const remembered = new Map<string, Authorization>()

/** The signature as a separate last part. */
const SIGNATURE_LAST = /, *Signature=[0-9a-f]+$/

/** Equals parsing it: a signature at the end does not affect the text before it. */
function authorizationOf(text: string, scheme: Scheme): Authorization {
  if (!SIGNATURE_LAST.test(text)) return readAuthorization(text, scheme)
  const start = text.lastIndexOf('=') + 1
  const head = text.slice(0, start)
  const known = remembered.get(head)
  if (known?.scheme === scheme) return { ...known, signature: text.slice(start) }
  const read = readAuthorization(text, scheme)
  if (remembered.size >= REMEMBERED_MAX) remembered.delete(remembered.keys().next().value!)
  remembered.set(head, read)
  return read
}

export function parseHeaderSignature(authorization: string, fields: HeaderFields, scheme: Scheme): ParsedSignature {
  const { scope, signedHeaders, signature } = authorizationOf(authorization, scheme)
  const contentHash = fields.get(`${scheme.headerPrefix}content-sha256`)
  if (contentHash === undefined) {
    throw new Fault('InvalidRequest', {
      reason: `Missing required header for this request: ${scheme.headerPrefix}content-sha256`,
    })
  }
  return {
    scope,
    timestamp: headerTimestamp(fields, scheme),
    signedHeaders,
    signature,
    contentHash,
    presigned: undefined,
    token: fields.get(`${scheme.headerPrefix}security-token`),
    malformed: headerMalformed,
  }
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

const queryMalformed = (reason: string, detail: FaultDetails = {}): Fault =>
  authFault('AuthorizationQueryParametersError', { ...detail, reason })

const QUERY_MARKS = ['Algorithm', 'Credential', 'Signature']

/** Whether any query name belongs to a signature; then the query must carry a complete one. */
export function isPresigned(pairs: readonly QueryPair[], scheme: Scheme): boolean {
  return pairs.some(
    ({ name }) => name.startsWith(scheme.queryPrefix) && QUERY_MARKS.includes(name.slice(scheme.queryPrefix.length)),
  )
}

/** The dialect of an older query signature; undefined when there is none. */
export function oldQuerySignature(pairs: readonly QueryPair[]): Scheme['name'] | undefined {
  if (pairs.some(({ name }) => name === 'SVCAccessKeyId')) return 'svc'
  return pairs.some(({ name }) => name === 'AWSAccessKeyId') ? 's3' : undefined
}

const EXPIRES_SECONDS_MAX = 604_800

function expiresSeconds(text: string, name: string): number {
  if (!/^-?\d+$/.test(text)) throw queryMalformed(`${name} should be a number`)
  const seconds = Number(text)
  if (seconds < 0) throw queryMalformed(`${name} must be non-negative`)
  if (seconds > EXPIRES_SECONDS_MAX) {
    throw queryMalformed(
      `${name} must be less than a week (in seconds); that is, the given ${name} must be less than 604800 seconds`,
    )
  }
  return seconds
}

/** Parameters of a presigned URL, without the prefix of their scheme. */
const QUERY_WORDS = [
  'Algorithm',
  'Credential',
  'Date',
  'Expires',
  'SignedHeaders',
  'Signature',
  'Content-Sha256',
  'Security-Token',
] as const
type QueryWord = (typeof QUERY_WORDS)[number]

const queryNames = ({ queryPrefix }: Scheme): Readonly<Record<QueryWord, string>> =>
  Object.fromEntries(QUERY_WORDS.map(word => [word, queryPrefix + word])) as Record<QueryWord, string>

const QUERY_NAMES = { svc: queryNames(SCHEMES.svc), s3: queryNames(SCHEMES.s3) }

export function parseQuerySignature(
  pairs: readonly QueryPair[],
  fields: HeaderFields,
  scheme: Scheme,
): ParsedSignature {
  const names = QUERY_NAMES[scheme.name]
  const find = (word: QueryWord): string | undefined => {
    const wanted = names[word]
    let found: QueryPair | undefined
    for (const pair of pairs) {
      if (pair.name !== wanted) continue
      if (found !== undefined) throw queryMalformed(`${wanted} must not be specified more than once`)
      found = pair
    }
    return found && decodeCanonical(found.value)
  }
  const take = (word: QueryWord): string => {
    const value = find(word)
    if (value !== undefined) return value
    const x = scheme.queryPrefix
    throw queryMalformed(
      `Query-string authentication version 4 requires the ${x}Algorithm, ${x}Credential, ${x}Signature, ${x}Date, ` +
        `${x}SignedHeaders, and ${x}Expires parameters.`,
    )
  }
  if (take('Algorithm') !== scheme.algorithm) {
    throw queryMalformed(`${scheme.queryPrefix}Algorithm only supports "${scheme.algorithm}"`)
  }
  const scope = parseCredential(take('Credential'))
  if (scope === undefined) throw queryMalformed(`Error parsing the Credential; ${expectedCredential(scheme)}`)
  const timestamp = basicTimestamp(take('Date'))
  if (timestamp === undefined) {
    throw queryMalformed(`${scheme.queryPrefix}Date must be in the ISO8601 Long Format "yyyyMMdd'T'HHmmss'Z'"`)
  }
  return {
    scope,
    timestamp,
    presigned: {
      seconds: expiresSeconds(take('Expires'), `${scheme.queryPrefix}Expires`),
      signatureName: `${scheme.queryPrefix}Signature`,
    },
    signedHeaders: signedHeadersIn(take('SignedHeaders')),
    signature: take('Signature'),
    contentHash: fields.get(`${scheme.headerPrefix}content-sha256`) ?? find('Content-Sha256') ?? UNSIGNED_PAYLOAD,
    token: find('Security-Token') ?? fields.get(`${scheme.headerPrefix}security-token`),
    malformed: queryMalformed,
  }
}
