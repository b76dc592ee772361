/** Authenticates the administrator of a request; all other callers get the same refusal. */
import { authenticate } from '../auth/authenticate.ts'
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import { ACCESS_KEY_CHARACTERS_MAX, checkedBody, requestedCredential } from '../auth/parsed-signature.ts'
import { SCHEMES, type Scheme, schemeNamedBy } from '../auth/signing.ts'
import type { RawRequest } from '../http/raw-request.ts'
import type { Credential } from '../model/caller.ts'
import { Fault } from '../model/faults.ts'
import type { IdentitySnapshot } from '../store/identity/identity-cache.ts'
import { actorOf } from '../store/request-session.ts'
import type { Store } from '../store/store.ts'
import type { ClaimedKey } from './failed-attempts.ts'
import type { AdminCaller } from './route.ts'
import { hasBearerToken } from './scraper.ts'

/**
 * Signatures for the admin API use a service name of their own, so that one made for the object API or another service
 * is not valid here.
 */
const ADMIN_SERVICE = 'admin'

export const ADMIN_SCHEMES: Readonly<Record<Scheme['name'], Scheme>> = {
  svc: { ...SCHEMES.svc, service: ADMIN_SERVICE },
  s3: { ...SCHEMES.s3, service: ADMIN_SERVICE },
}

interface AdminAuthentication {
  readonly identities: IdentitySnapshot
  readonly region: string
  readonly anyRegion: boolean
  readonly now: number
  /** Unknown keys are checked against this random secret, so that they take as long as known ones. */
  readonly decoySecret: string
}

const REASON = "This request must be signed with an administrator's key."

const refused = (): Fault => new Fault('AccessDenied', { reason: REASON })

/** Looks like every other refusal to the client; the flag is for counting guesses. */
export const signatureMismatch = (): Fault => new Fault('AccessDenied', { reason: REASON, wrongSignature: true })

/** The access key that a request claims, unverified; undefined when it names none. */
export async function claimedKey(request: RawRequest, identities: IdentitySnapshot): Promise<ClaimedKey | undefined> {
  // Guesses of the scrape token are counted under a name that no access key can have.
  if (hasBearerToken(request)) return { accessKey: 'Bearer ', exists: true }
  const scheme = schemeNamedBy(request)
  const accessKey = scheme && requestedCredential(request, scheme)?.accessKey
  if (accessKey === undefined || accessKey.length > ACCESS_KEY_CHARACTERS_MAX) return undefined
  return { accessKey, exists: (await identities.findCredential(accessKey)) !== undefined }
}

/** Faults of a failed authentication. All others concern the form of the request and disclose no secret. */
const SIGNATURE_FAULTS = new Set(['InvalidAccessKeyId', 'SignatureDoesNotMatch'])

/** The body must be read only through the returned stream, which checks it against the signed hash. */
export async function administratorOf(
  request: RawRequest,
  body: AsyncIterable<Buffer>,
  proof: AdminAuthentication,
): Promise<{ readonly administrator: AdminCaller; readonly body: AsyncIterable<Buffer> }> {
  const named = schemeNamedBy(request)
  if (named === undefined) throw hasBearerToken(request) ? signatureMismatch() : refused()
  const { identities, region, anyRegion, now } = proof
  const findCredential = async (accessKey: string): Promise<Credential> =>
    (await identities.findCredential(accessKey)) ?? decoyCredential(accessKey, proof.decoySecret)
  const by = { scheme: ADMIN_SCHEMES[named.name], region, anyRegion, now, findCredential }
  const { caller, payload } = await verifySignature(request, by)
  // A user's key never administers, whatever its policies allow, so that no user can raise permissions.
  if (caller.kind !== 'account' || !identities.mayAdminister({ account: caller.account, user: undefined })) {
    throw refused()
  }
  if (payload.kind !== 'sha256') {
    throw new Fault('InvalidRequest', { reason: 'The signature must cover the hash of the body.' })
  }
  const { account, accessKey } = caller
  return { administrator: { account, accessKey, user: undefined }, body: checkedBody(body, payload) }
}

/** A refusal does not tell whether the access key exists. */
async function verifySignature(request: RawRequest, by: Authentication): Promise<Authenticated> {
  try {
    return await authenticate(request, by)
  } catch (error) {
    throw error instanceof Fault && SIGNATURE_FAULTS.has(error.code) ? signatureMismatch() : error
  }
}

function decoyCredential(accessKey: string, secretKey: string): Credential {
  const account = { accountId: '', canonicalId: '', displayName: '', email: undefined }
  return { accessKey, secretKey, account, user: undefined }
}

/** A view of the store that records lock changes in this caller's name. */
export function asCaller({ account, user, accessKey }: AdminCaller, store: Store, requestId: string): Store {
  const caller =
    user === undefined
      ? ({ kind: 'account', account, accessKey } as const)
      : ({ kind: 'user', account, user, accessKey } as const)
  return store.forRequest(store.context.meta, actorOf(caller, requestId))
}
