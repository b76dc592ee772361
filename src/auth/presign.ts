/** Presigns requests: the signature is in the query, so that a browser can send them. */
import { type Scheme, UNSIGNED_PAYLOAD } from './schemes.ts'
import type { KeyPair } from './sign-request.ts'
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

const NO_ACCOUNT = { accountId: '', canonicalId: '', displayName: '', email: undefined }

export const percentEncoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, found => `%${found.charCodeAt(0).toString(16).toUpperCase()}`)

const queryText = (pairs: readonly (readonly [string, string])[]): string =>
  pairs.map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`).join('&')

/** The URL of the request. */
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
  const pairs = canonicalPairs(text)
  const canonical = canonicalRequest(
    { method, path, pairs, fields, signedHeaders, contentHash: UNSIGNED_PAYLOAD },
    undefined,
  )
  const toSign = [scheme.algorithm, stamp, scope.text, sha256Hex(canonical)].join('\n')
  const signature = hmac(signingKey(scheme, { ...by.key, account: NO_ACCOUNT, user: undefined }, scope), toSign)
  return `${origin}${path}?${text}&${x}Signature=${signature}`
}
