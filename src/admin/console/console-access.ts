/** Requests of the console's page: signing in and out, and the checks of every request that carries a session. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ACCESS_KEY_CHARACTERS_MAX } from '../../auth/parsed-signature.ts'
import type { Credential } from '../../model/caller.ts'
import { Fault } from '../../model/faults.ts'
import type { IdentitySnapshot } from '../../store/identity/identity-cache.ts'
import type { FailedAttempts } from '../failed-attempts.ts'
import type { AdminCaller } from '../route.ts'
import type { ConsoleAddress, ConsoleVisit } from './console-address.ts'
import { clearedCookie, sentSessionIds, sessionCookie } from './session-cookie.ts'
import type { ConsoleSession, Sessions, SignedInPerson } from './sessions.ts'

/** No form and no other origin can send it without a preflight, which is never granted. Its value is the token. */
const TOKEN_HEADER = 'x-holdfast-console'
/** Marks requests of timers, which do not postpone the idle end of the session. */
const IDLE_HEADER = 'x-holdfast-idle'
const SAFE_METHODS = ['GET', 'HEAD']

export interface SignedIn {
  readonly caller: AdminCaller
  readonly session: ConsoleSession
  readonly objectUrl: string
}

export interface BegunSession extends SignedIn {
  readonly token: string
  readonly cookie: string
}

interface ConsoleAccessParts {
  readonly address: ConsoleAddress
  readonly sessions: Sessions
  readonly attempts: FailedAttempts
  /** Unknown keys are compared with this random secret, so that they take as long as known ones. */
  readonly decoySecret: string
}

const refused = (reason: string): Fault => new Fault('AccessDenied', { reason })
const sessionOver = (): Fault => new Fault('Unauthenticated')

const callerOf = ({ account, user, accessKey }: Credential): AdminCaller => ({ account, user, accessKey })

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Only a request without credentials of its own is one of the console's page. */
export const isFromConsolePage = ({ headers, url = '' }: IncomingMessage): boolean =>
  headers.authorization === undefined && headers[TOKEN_HEADER] !== undefined && !/[?&]X-(Amz|Svc)-/i.test(url)

export class ConsoleAccess {
  readonly #parts: ConsoleAccessParts

  constructor(parts: ConsoleAccessParts) {
    this.#parts = parts
  }

  /** For a signed request, whose host name is covered by the signature. */
  objectUrl(message: IncomingMessage): string | undefined {
    try {
      return this.#parts.address.visit(message).objectUrl
    } catch {
      return undefined
    }
  }

  /** The caller of a request with a session. */
  async signedIn(message: IncomingMessage, identities: IdentitySnapshot): Promise<SignedIn> {
    const visit = this.checkOrigin(message)
    const { sessions } = this.#parts
    const token = String(message.headers[TOKEN_HEADER])
    for (const id of sentSessionIds(message, visit.origin)) {
      const session = sessions.find(id, token)
      if (session === undefined) continue
      const credential = await identities.findCredential(session.accessKey)
      if (credential === undefined || !sessions.isOf(id, credential)) {
        sessions.end(id)
        break
      }
      if (message.headers[IDLE_HEADER] === undefined) sessions.use(id)
      return {
        caller: callerOf(credential),
        session: sessions.find(id, token) ?? session,
        objectUrl: visit.objectUrl,
      }
    }
    throw sessionOver()
  }

  /** Ends every session that the request carries, and returns the cookie that clears them. */
  signOut(message: IncomingMessage): string {
    const { origin } = this.checkOrigin(message)
    for (const id of sentSessionIds(message, origin)) this.#parts.sessions.end(id)
    return clearedCookie(origin)
  }

  async signIn(
    message: IncomingMessage,
    identities: IdentitySnapshot,
    given: { readonly accessKey: string; readonly secretKey: string },
  ): Promise<BegunSession> {
    this.checkOrigin(message)
    return this.begin(message, await this.#checkSecret(message, identities, given))
  }

  /** Begins a session for a caller who has proved to be the holder of this credential. */
  begin(message: IncomingMessage, credential: Credential, person?: SignedInPerson): BegunSession {
    const visit = this.checkOrigin(message)
    this.signOut(message)
    const { id, token, session } = this.#parts.sessions.begin(credential, person)
    const { origin, objectUrl } = visit
    return { caller: callerOf(credential), session, objectUrl, token, cookie: sessionCookie(origin, id) }
  }

  /** Wrong secrets are slowed down as wrong signatures are; the right one is never refused. */
  async #checkSecret(
    { socket }: IncomingMessage,
    identities: IdentitySnapshot,
    { accessKey, secretKey }: { readonly accessKey: string; readonly secretKey: string },
  ): Promise<Credential> {
    const { attempts, decoySecret } = this.#parts
    const address = socket.remoteAddress ?? ''
    const wait = attempts.retryAfterSeconds(address)
    // No key is longer, and names of failed attempts are remembered.
    const isTooLong = accessKey.length > ACCESS_KEY_CHARACTERS_MAX
    const credential = isTooLong ? undefined : await identities.findCredential(accessKey)
    const isRight = timingSafeEqual(digest(secretKey), digest(credential?.secretKey ?? decoySecret))
    if (isRight && credential !== undefined) return credential
    attempts.recordFailure(address)
    if (!isTooLong) await attempts.delayResponse({ accessKey, exists: credential !== undefined })
    if (wait > 0) throw new Fault('TooManyRequests', { retryAfter: wait })
    throw refused('The access key and the secret key do not match an enabled key of this server.')
  }

  /** Refuses requests that a page of another origin could have caused (CSRF). */
  checkOrigin(message: IncomingMessage): ConsoleVisit {
    const visit = this.#parts.address.visit(message)
    const { origin, [TOKEN_HEADER]: token, 'sec-fetch-site': site } = message.headers
    if (token === undefined) throw refused(`Requests with a session need the header ${TOKEN_HEADER}.`)
    const isSafe = SAFE_METHODS.includes(message.method ?? '')
    const isSameOrigin = origin === undefined ? isSafe : origin === visit.origin
    if (!isSameOrigin || (site !== undefined && site !== 'same-origin')) {
      throw refused(`Requests with a session must come from a page of ${visit.origin}.`)
    }
    return visit
  }
}
