/** Parses a signature in the query, as of a presigned URL, before anything is verified. */
import { ParseCache } from '../lib/parse-cache.ts'
import { Fault, type FaultDetails } from '../model/faults.ts'
import { expectedCredential, otherScheme, type ParsedSignature, parseCredential } from './parsed-signature.ts'
import { authFault } from './refusal.ts'
import { signedHeadersIn } from './signed-headers.ts'
import {
  basicTimestamp,
  canonicalPairs,
  canonicalQuery,
  decodeCanonical,
  type HeaderFields,
  isSignature,
  type QueryPair,
  queryIn,
  SCHEMES,
  type Scheme,
  SIGNATURE_DIGITS,
  UNSIGNED_PAYLOAD,
} from './signing.ts'

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

/** A presigned query, parsed without the headers that go with it. */
interface PresignedQuery
  extends Pick<ParsedSignature, 'scope' | 'timestamp' | 'signedHeaders' | 'signature' | 'token'> {
  readonly seconds: number
  readonly contentHash: string | undefined
  /** The canonical query that the signature covers. */
  readonly text: string
}

function parsePresignedQuery(pairs: readonly QueryPair[], scheme: Scheme): PresignedQuery {
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
    seconds: expiresSeconds(take('Expires'), names.Expires),
    signedHeaders: signedHeadersIn(take('SignedHeaders')),
    signature: take('Signature'),
    contentHash: find('Content-Sha256'),
    token: find('Security-Token'),
    text: canonicalQuery(pairs, names.Signature),
  }
}

/** A signature in a query, and the canonical query that it covers. */
export interface SignedQuery {
  readonly parsed: ParsedSignature
  readonly canonicalQuery: string
}

function signedQuery(query: PresignedQuery, signature: string, fields: HeaderFields, scheme: Scheme): SignedQuery {
  const { scope, timestamp, seconds, signedHeaders, contentHash, token, text } = query
  const parsed = {
    scope,
    timestamp,
    presigned: { seconds },
    signedHeaders,
    signature,
    contentHash: fields.get(`${scheme.headerPrefix}content-sha256`) ?? contentHash ?? UNSIGNED_PAYLOAD,
    token: token ?? fields.get(`${scheme.headerPrefix}security-token`),
    malformed: queryMalformed,
  }
  return { parsed, canonicalQuery: text }
}

export function parseQuerySignature(pairs: readonly QueryPair[], fields: HeaderFields, scheme: Scheme): SignedQuery {
  const query = parsePresignedQuery(pairs, scheme)
  return signedQuery(query, query.signature, fields, scheme)
}

/** Anyone can fill it, and a list of short names takes twenty times the memory of its text. */
const QUERIES_CHARACTERS_MAX = 2 ** 18

const presignedQueries = (scheme: Scheme): ParseCache<PresignedQuery> =>
  new ParseCache(unsigned => {
    const pairs = canonicalPairs(queryIn(scheme, unsigned))
    const other = scheme.name === 'svc' ? SCHEMES.s3 : SCHEMES.svc
    if (isPresigned(pairs, other) || oldQuerySignature(pairs) !== undefined) throw otherScheme(scheme)
    return parsePresignedQuery(pairs, scheme)
  }, QUERIES_CHARACTERS_MAX)

/** By query without the digits of its signature: URLs that were signed together, or are used again, share one. */
const cachedQueries = { svc: presignedQueries(SCHEMES.svc), s3: presignedQueries(SCHEMES.s3) }

/**
 * Equals parsing the query: the digits of a signature do not affect the rest. Undefined if it has no signature of the
 * usual form or cannot be parsed; parsing it anew gives the reason.
 */
export function cachedQuerySignature(query: string, fields: HeaderFields, scheme: Scheme): SignedQuery | undefined {
  const name = QUERY_NAMES[scheme.name].Signature
  const at = query.indexOf(name)
  const start = at + name.length + 1
  const end = start + SIGNATURE_DIGITS
  const isParameter = at === 0 || query[at - 1] === '&'
  if (at < 0 || !isParameter || query[start - 1] !== '=' || (end !== query.length && query[end] !== '&'))
    return undefined
  const signature = query.slice(start, end)
  if (!isSignature(signature)) return undefined
  try {
    const parsed = cachedQueries[scheme.name].get(query.slice(0, start) + query.slice(end))
    return signedQuery(parsed, signature, fields, scheme)
  } catch (error) {
    if (error instanceof Fault) return undefined
    throw error
  }
}
