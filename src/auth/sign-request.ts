/** Signs requests as a client: for the commands that call a server, and in the query for browsers. */
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { percentEncoded } from '../lib/percent-encoding.ts'
import { signedHeadersIn } from './signed-headers.ts'
import {
  basicText,
  canonicalFields,
  canonicalPairs,
  canonicalQuery,
  canonicalRequest,
  hmac,
  queryIn,
  type Scheme,
  type Scope,
  scopeOf,
  sha256Hex,
  signingKey,
  UNSIGNED_PAYLOAD,
} from './signing.ts'

export interface KeyPair {
  readonly accessKey: string
  readonly secretKey: string
}

export interface PresignedRequest {
  readonly method: string
  /** Scheme, host and port. */
  readonly origin: string
  /** Percent-encoded. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** Headers that must be sent as given; one character per byte. */
  readonly headers: Readonly<Record<string, string>>
}

interface UnsignedRequest {
  readonly key: KeyPair
  readonly region: string
  /** SHA-256 of the body in hex, or the word for an unhashed body. */
  readonly contentHash: string
  readonly now: number
}

/** Signing needs no account: the server knows the key's owner. */
const NO_ACCOUNT = { accountId: '', canonicalId: '', displayName: '', email: undefined }

function signatureOf(
  scheme: Scheme,
  key: KeyPair,
  { stamp, scope, canonical }: { readonly stamp: string; readonly scope: Scope; readonly canonical: string },
): string {
  const text = [scheme.algorithm, stamp, scope.text, sha256Hex(canonical)].join('\n')
  return hmac(signingKey(scheme, { ...key, account: NO_ACCOUNT, user: undefined }, scope), text)
}

/** The request with its date, the hash of its body and a signature over all of its headers. */
export function signRequest(
  scheme: Scheme,
  request: RawRequest,
  { key, region, contentHash, now }: UnsignedRequest,
): RawRequest {
  const stamp = basicText(now)
  const headers: [string, string][] = [
    ...(request.headers as [string, string][]),
    [`${scheme.headerPrefix}content-sha256`, contentHash],
    [`${scheme.headerPrefix}date`, stamp],
  ]
  const whole = { ...request, headers }
  const fields = canonicalFields(whole)
  const signedHeaders = signedHeadersIn([...fields.keys()].join(';'))
  const { path, query } = splitTarget(request.target)
  const scope = scopeOf(scheme, stamp.slice(0, 8), region)
  const canonical = canonicalRequest({
    method: request.method,
    path: path || '/',
    query: canonicalQuery(canonicalPairs(queryIn(scheme, query))),
    fields,
    signedHeaders,
    contentHash,
  })
  const signature = signatureOf(scheme, key, { stamp, scope, canonical })
  const proof = `Credential=${key.accessKey}/${scope.text},SignedHeaders=${signedHeaders.text}`
  // A new list: what was computed for the unsigned one is remembered.
  return { ...whole, headers: [...headers, ['authorization', `${scheme.algorithm} ${proof},Signature=${signature}`]] }
}

const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`).join('&')

/** The URL of the request, with the signature in its query. */
export function presign(
  scheme: Scheme,
  { method, origin, path, query, headers }: PresignedRequest,
  by: { readonly key: KeyPair; readonly region: string; readonly now: number; readonly seconds: number },
): string {
  const stamp = basicText(by.now)
  const scope = scopeOf(scheme, stamp.slice(0, 8), by.region)
  const sent = [['host', new URL(origin).host] as const, ...Object.entries(headers)]
  const fields = canonicalFields({ method, target: path, headers: sent })
  const signedHeaders = signedHeadersIn([...fields.keys()].join(';'))
  const x = scheme.queryPrefix
  const text = queryText([
    ...Object.entries(query),
    [`${x}Algorithm`, scheme.algorithm],
    [`${x}Credential`, `${by.key.accessKey}/${scope.text}`],
    [`${x}Date`, stamp],
    [`${x}Expires`, String(by.seconds)],
    [`${x}SignedHeaders`, signedHeaders.text],
  ])
  const signed = canonicalQuery(canonicalPairs(text))
  const canonical = canonicalRequest({
    method,
    path,
    query: signed,
    fields,
    signedHeaders,
    contentHash: UNSIGNED_PAYLOAD,
  })
  const signature = signatureOf(scheme, by.key, { stamp, scope, canonical })
  return `${origin}${path}?${text}&${x}Signature=${signature}`
}
