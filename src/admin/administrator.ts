/** From a request to the administrator who signed it; everybody else gets one and the same refusal. */
import { authenticate } from '../auth/authenticate.ts'
import { ACCESS_KEY_CHARACTERS_MAX, type Authenticated, type Authentication } from '../auth/authentication.ts'
import { claimedCredential } from '../auth/claim.ts'
import { checkedBody } from '../auth/payload.ts'
import { SCHEMES, type Scheme, schemeNamedBy } from '../auth/schemes.ts'
import type { RawRequest } from '../http/raw-request.ts'
import { type Account, actorOf, type Credential } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { IdentitySnapshot } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { KeyStanding } from './failed-attempts.ts'
import { bringsToken } from './scraper.ts'

/**
 * Signatures for the admin API name a service of their own: none that was made for the object API, or for any other
 * service, is good here.
 */
export const ADMIN_SERVICE = 'admin'

export const ADMIN_SCHEMES: Readonly<Record<Scheme['name'], Scheme>> = {
  svc: { ...SCHEMES.svc, service: ADMIN_SERVICE },
  s3: { ...SCHEMES.s3, service: ADMIN_SERVICE },
}

export interface Administrator {
  readonly account: Account
  readonly accessKey: string
}

export interface Proof {
  readonly identities: IdentitySnapshot
  readonly region: string
  readonly anyRegion: boolean
  readonly now: number
  /** A secret that nobody has: an unknown key is checked against it, so that it takes as long as a known one. */
  readonly nobodysSecret: string
}

const REASON = "This needs a request that is signed with an administrator's key."

const refused = (): Fault => new Fault('AccessDenied', { reason: REASON })

/** Told like every other refusal; the mark is for whoever counts guesses. */
export const signatureMismatch = (): Fault => new Fault('AccessDenied', { reason: REASON, wrongSignature: true })

/** The key that a request is signed with, as it says itself; undefined when it names none. */
export async function keyNamedBy(request: RawRequest, identities: IdentitySnapshot): Promise<KeyStanding | undefined> {
  // The token of scrapers is guessed like a key; no key is called that.
  if (bringsToken(request)) return { accessKey: 'Bearer ', exists: true }
  const scheme = schemeNamedBy(request)
  const accessKey = scheme && claimedCredential(request, scheme)?.accessKey
  if (accessKey === undefined || accessKey.length > ACCESS_KEY_CHARACTERS_MAX) return undefined
  return { accessKey, exists: (await identities.findCredential(accessKey)) !== undefined }
}

/** What says no more than that the proof failed. The others are about the form of the request and tell no secret. */
const TELLING = new Set(['InvalidAccessKeyId', 'SignatureDoesNotMatch'])

/** The body may be read only through what this returns: it is held against the hash that was signed. */
export async function administratorOf(
  request: RawRequest,
  body: AsyncIterable<Buffer>,
  proof: Proof,
): Promise<{ readonly administrator: Administrator; readonly body: AsyncIterable<Buffer> }> {
  const named = schemeNamedBy(request)
  if (named === undefined) throw bringsToken(request) ? signatureMismatch() : refused()
  const { identities, region, anyRegion, now } = proof
  const findCredential = async (accessKey: string): Promise<Credential> =>
    (await identities.findCredential(accessKey)) ?? nobody(accessKey, proof.nobodysSecret)
  const by = { scheme: ADMIN_SCHEMES[named.name], region, anyRegion, now, findCredential }
  const { caller, payload } = await verifySignature(request, by)
  // A user's key never administers, whatever its policies say, so no user can give itself or another more.
  if (caller.kind !== 'account' || !identities.mayAdminister({ account: caller.account, user: undefined })) {
    throw refused()
  }
  if (payload.kind !== 'sha256') {
    throw new Fault('InvalidRequest', { reason: 'The signature must cover the hash of the body.' })
  }
  return { administrator: caller, body: checkedBody(body, payload) }
}

/** A refusal does not tell whether the access key exists. */
async function verifySignature(request: RawRequest, by: Authentication): Promise<Authenticated> {
  try {
    return await authenticate(request, by)
  } catch (error) {
    throw error instanceof Fault && TELLING.has(error.code) ? signatureMismatch() : error
  }
}

function nobody(accessKey: string, secretKey: string): Credential {
  const account = { accountId: '', canonicalId: '', displayName: '', email: undefined }
  return { accessKey, secretKey, account, user: undefined }
}

/** The store, in which what is done to locks is noted as done by this administrator. */
export const asAdministrator = (administrator: Administrator, store: Store, requestId: string): Store =>
  store.forRequest(store.context.meta, actorOf({ kind: 'account', ...administrator }, requestId))
