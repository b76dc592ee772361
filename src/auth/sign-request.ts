/** Signs requests as a client, for the commands that call a server. */
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { queryIn, type Scheme } from './schemes.ts'
import {
  basicText,
  canonicalFields,
  canonicalPairs,
  canonicalRequest,
  hmac,
  scopeOf,
  sha256Hex,
  signedHeadersIn,
  signingKey,
} from './signing.ts'

export interface KeyPair {
  readonly accessKey: string
  readonly secretKey: string
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
  const pairs = canonicalPairs(queryIn(scheme, query))
  const scope = scopeOf(scheme, stamp.slice(0, 8), region)
  const canonical = canonicalRequest(
    { method: request.method, path: path || '/', pairs, fields, signedHeaders, contentHash },
    undefined,
  )
  const text = [scheme.algorithm, stamp, scope.text, sha256Hex(canonical)].join('\n')
  const signature = hmac(signingKey(scheme, { ...key, account: NO_ACCOUNT, user: undefined }, scope), text)
  const proof = `Credential=${key.accessKey}/${scope.text},SignedHeaders=${signedHeaders.text}`
  headers.push(['authorization', `${scheme.algorithm} ${proof},Signature=${signature}`])
  return whole
}
