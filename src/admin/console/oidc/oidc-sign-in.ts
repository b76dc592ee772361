/**
 * Signing in with OpenID Connect: the authorization code flow with PKCE. Between the two steps the server remembers
 * state, nonce and verifier, bound to the browser by a cookie; a sign-in can be finished once, by that browser.
 */
import { createHash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'
import { Fault } from '../../../model/faults.ts'
import { FailedAttempts } from '../../failed-attempts.ts'
import { OIDC_SECONDS, oidcCookie, sentOidcIds } from '../session-cookie.ts'
import type { SignedInPerson } from '../sessions.ts'
import { InvalidIdToken } from './id-token.ts'
import { OidcIssuer, type OidcSettings } from './oidc-issuer.ts'

/** A page of the console, which finishes the sign-in. */
const RETURN_PATH = '/sign-in/return'
/** The claim of the user may need more than `openid`. */
const SCOPES = 'openid profile email'
const SECRET_BYTES = 32
/** The oldest are forgotten first. */
const BEGUN_MAX = 10_000

interface Begun {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly origin: string
  readonly address: string
  readonly begunAt: number
}

interface FinishedSignIn {
  /** The claim: the account, or the account and the user, to act as. */
  readonly name: string
  readonly person: SignedInPerson
}

const refused = (reason: string): Fault => new Fault('AccessDenied', { reason })
const hashOf = (text: string): string => createHash('sha256').update(text).digest('base64url')

export class OidcSignIn {
  readonly settings: OidcSettings
  readonly #issuer: OidcIssuer
  readonly #clock: Clock
  readonly #random: Random
  readonly #begun = new Map<string, Begun>()
  /** Counts sign-ins as failed until they are finished: one address must not push out what others began. */
  readonly #unfinished: FailedAttempts

  constructor(settings: OidcSettings, clock: Clock, random: Random) {
    this.settings = settings
    this.#issuer = new OidcIssuer(settings, clock)
    this.#clock = clock
    this.#random = random
    this.#unfinished = new FailedAttempts(clock)
  }

  /** The address at the issuer to send the browser to, and the cookie that binds the sign-in to it. */
  async begin(message: IncomingMessage, origin: string): Promise<{ readonly url: string; readonly cookie: string }> {
    const address = message.socket.remoteAddress ?? ''
    const wait = this.#unfinished.retryAfterSeconds(address)
    if (wait > 0) throw new Fault('TooManyRequests', { retryAfter: wait })
    this.#unfinished.recordFailure(address)
    const [id, state, nonce, verifier] = [this.#secret(), this.#secret(), this.#secret(), this.#secret()]
    const url = await this.#issuer.authorizationUrl({
      response_type: 'code',
      client_id: this.settings.clientId,
      redirect_uri: origin + RETURN_PATH,
      scope: SCOPES,
      state,
      nonce,
      code_challenge: hashOf(verifier),
      code_challenge_method: 'S256',
    })
    if (this.#begun.size >= BEGUN_MAX) this.#begun.delete(this.#begun.keys().next().value!)
    this.#begun.set(hashOf(id), { state, nonce, verifier, origin, address, begunAt: this.#clock.now() })
    return { url, cookie: oidcCookie(origin, id) }
  }

  async finish(
    message: IncomingMessage,
    origin: string,
    { code, state }: { readonly code: string; readonly state: string },
  ): Promise<FinishedSignIn> {
    const begun = this.#take(message, origin, state)
    if (begun === undefined) {
      throw refused('This sign-in was not begun in this browser, took too long or is finished already. Begin again.')
    }
    const exchange = { code, verifier: begun.verifier, redirectUri: origin + RETURN_PATH }
    try {
      const { sub, [this.settings.claim]: name } = await this.#issuer.claimsFor(exchange, begun.nonce)
      this.#unfinished.withdrawFailure(begun.address)
      if (typeof name === 'string') return { name, person: { issuer: this.settings.issuer, subject: String(sub) } }
    } catch (error) {
      throw error instanceof InvalidIdToken ? refused(error.message) : error
    }
    throw refused(`The ID token has no text in the claim ${this.settings.claim}, which names the user.`)
  }

  /** Every attempt uses up what was begun. */
  #take(message: IncomingMessage, origin: string, state: string): Begun | undefined {
    for (const id of sentOidcIds(message, origin)) {
      const begun = this.#begun.get(hashOf(id))
      this.#begun.delete(hashOf(id))
      if (begun === undefined || begun.origin !== origin) continue
      const isInTime = this.#clock.now() < begun.begunAt + OIDC_SECONDS * 1000
      if (isInTime && hashOf(begun.state) === hashOf(state)) return begun
    }
    return undefined
  }

  #secret(): string {
    return this.#random.bytes(SECRET_BYTES).toString('base64url')
  }
}
