/** Parses a signature in the query, as of a presigned URL, before anything is verified. */
import type { Fault, FaultDetails } from '../model/faults.ts'
import { expectedCredential, type ParsedSignature, parseCredential } from './parsed-signature.ts'
import { authFault } from './refusal.ts'
import {
  basicTimestamp,
  decodeCanonical,
  type HeaderFields,
  type QueryPair,
  SCHEMES,
  type Scheme,
  signedHeadersIn,
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
