/** Verifies ID tokens of OpenID Connect: signature, issuer, audience, times and nonce. */
import { createPublicKey, type JsonWebKey, type KeyObject, verify } from 'node:crypto'

/** Clocks of two machines may differ by this much. */
const SKEW_SECONDS = 60
const RSA_BITS_MIN = 2048

export interface IssuerKey extends JsonWebKey {
  readonly kid?: string
  readonly use?: string
  readonly alg?: string
}

export interface ExpectedToken {
  readonly issuer: string
  readonly clientId: string
  readonly nonce: string
  readonly now: number
}

export type Claims = Readonly<Record<string, unknown>>

/** The token must not be trusted. Its message never contains the token. */
export class InvalidIdToken extends Error {}

/** No key of the issuer fits; it may have new ones. */
export class UnknownKey extends InvalidIdToken {}

interface Algorithm {
  fits(key: IssuerKey): boolean
  verify(key: KeyObject, signed: Buffer, signature: Buffer): boolean
}

/** `none` and algorithms with a shared secret are not among them. */
const ALGORITHMS: ReadonlyMap<unknown, Algorithm> = new Map([
  [
    'RS256',
    {
      fits: ({ kty }: IssuerKey) => kty === 'RSA',
      verify: (key: KeyObject, signed: Buffer, signature: Buffer) =>
        (key.asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN && verify('sha256', signed, key, signature),
    },
  ],
  [
    'ES256',
    {
      fits: ({ kty, crv }: IssuerKey) => kty === 'EC' && crv === 'P-256',
      verify: (key: KeyObject, signed: Buffer, signature: Buffer) =>
        verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature),
    },
  ],
  [
    'EdDSA',
    {
      fits: ({ kty, crv }: IssuerKey) => kty === 'OKP' && crv === 'Ed25519',
      verify: (key: KeyObject, signed: Buffer, signature: Buffer) => verify(null, signed, key, signature),
    },
  ],
])

export function verifyIdToken(token: string, keys: readonly IssuerKey[], expected: ExpectedToken): Claims {
  const [head = '', body = '', signature = '', ...more] = token.split('.')
  if (more.length > 0 || signature === '') throw new InvalidIdToken('The ID token is not a signed token.')
  const { alg, kid, crit } = jsonIn(head)
  const algorithm = ALGORITHMS.get(alg)
  if (algorithm === undefined || crit !== undefined) {
    throw new InvalidIdToken('The ID token is signed in a way that is not accepted: use RS256, ES256 or EdDSA.')
  }
  const fitting = keys.filter(
    key =>
      algorithm.fits(key) && key.use !== 'enc' && (key.alg ?? alg) === alg && (kid === undefined || key.kid === kid),
  )
  if (fitting.length !== 1) throw new UnknownKey('The ID token is signed by a key that the issuer does not publish.')
  const isSigned = algorithm.verify(
    publicKeyOf(fitting[0]!),
    Buffer.from(`${head}.${body}`),
    Buffer.from(signature, 'base64url'),
  )
  if (!isSigned) throw new InvalidIdToken('The signature of the ID token is wrong.')
  const claims = jsonIn(body)
  checkClaims(claims, expected)
  return claims
}

function publicKeyOf(key: IssuerKey): KeyObject {
  try {
    return createPublicKey({ key, format: 'jwk' })
  } catch {
    throw new InvalidIdToken('The key that the issuer publishes for the ID token is malformed.')
  }
}

function jsonIn(part: string): Claims {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(part, 'base64url').toString())
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed as Claims
  } catch {
    // The parser's message quotes its input.
  }
  throw new InvalidIdToken('The ID token is not valid JSON.')
}

function checkClaims(claims: Claims, { issuer, clientId, nonce, now }: ExpectedToken): void {
  const { iss, aud, azp, exp, iat, nbf, sub } = claims
  const seconds = now / 1000
  const audiences = Array.isArray(aud) ? aud : [aud]
  const require = (holds: boolean, what: string): void => {
    if (!holds) throw new InvalidIdToken(`The ID token is refused: ${what}.`)
  }
  require(iss === issuer, 'it is of another issuer')
  require(audiences.includes(clientId), 'it is for another client')
  require(azp === undefined ? audiences.length === 1 : azp === clientId, 'it was issued for another client')
  require(typeof sub === 'string' && sub !== '', 'it has no subject')
  require(typeof exp === 'number' && exp + SKEW_SECONDS > seconds, 'it has expired')
  require(typeof iat === 'number' && iat - SKEW_SECONDS <= seconds, 'it is from the future')
  require(nbf === undefined || (typeof nbf === 'number' && nbf - SKEW_SECONDS <= seconds), 'it is not valid yet')
  require(claims.nonce === nonce, 'it belongs to another sign-in')
}
