/** The issuer of ID tokens: its discovery document, its keys and its token endpoint. */
import type { Clock } from '../../../lib/clock.ts'
import { Fault } from '../../../model/faults.ts'
import { type Claims, type ExpectedToken, type IssuerKey, UnknownKey, verifyIdToken } from './id-token.ts'

const TIMEOUT_MS = 10_000
const RESPONSE_BYTES_MAX = 256 * 1024
/** How long the document and the keys are used before they are read again. */
const FRESH_MS = 3_600_000
/** Tokens with unknown keys make the server read the keys again, but not more often than this. */
const REFETCH_MS = 30_000

export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined
  /** The claim that names the user to act as. */
  readonly claim: string
  /** The name of the issuer on the sign-in page. */
  readonly name: string
}

interface Discovered {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly keysUrl: string
  readonly postsSecret: boolean
}

interface Kept<T> {
  readonly value: T
  readonly readAt: number
}

interface Exchange {
  readonly code: string
  readonly verifier: string
  readonly redirectUri: string
}

const unavailable = (reason: string): Fault => new Fault('ServiceUnavailable', { reason })

/** Tokens and secrets travel encrypted, except to a server on the same machine. */
export function isSafeIssuerUrl(text: unknown): text is string {
  if (typeof text !== 'string' || !URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (username !== '' || password !== '') return false
  return protocol === 'https:' || (protocol === 'http:' && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
}

export class OidcIssuer {
  readonly #settings: OidcSettings
  readonly #clock: Clock
  #discovered: Kept<Discovered> | undefined
  #keys: Kept<readonly IssuerKey[]> | undefined

  constructor(settings: OidcSettings, clock: Clock) {
    this.#settings = settings
    this.#clock = clock
  }

  async authorizationUrl(parameters: Readonly<Record<string, string>>): Promise<string> {
    const url = new URL((await this.#discover()).authorizationEndpoint)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
    return url.href
  }

  /** Exchanges a code for an ID token, and returns its claims once it is verified. */
  async claimsFor(exchange: Exchange, nonce: string): Promise<Claims> {
    const { issuer, clientId } = this.#settings
    const token = await this.#idToken(exchange)
    const expected: ExpectedToken = { issuer, clientId, nonce, now: this.#clock.now() }
    try {
      return verifyIdToken(token, await this.#issuerKeys(FRESH_MS), expected)
    } catch (error) {
      if (!(error instanceof UnknownKey)) throw error
      return verifyIdToken(token, await this.#issuerKeys(REFETCH_MS), expected)
    }
  }

  async #idToken({ code, verifier, redirectUri }: Exchange): Promise<string> {
    const { clientId, clientSecret } = this.#settings
    const { tokenEndpoint, postsSecret } = await this.#discover()
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      code_verifier: verifier,
      client_id: clientId,
    })
    const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' }
    if (clientSecret !== undefined && postsSecret) form.set('client_secret', clientSecret)
    else if (clientSecret !== undefined) {
      const pair = [clientId, clientSecret].map(part => new URLSearchParams({ part }).toString().slice('part='.length))
      headers.authorization = `Basic ${Buffer.from(pair.join(':')).toString('base64')}`
    }
    const { status, json } = await this.#request(tokenEndpoint, { method: 'POST', headers, body: form.toString() })
    if (status >= 500) throw unavailable(`The issuer failed with HTTP ${status}. Try again.`)
    if (status !== 200) throw new Fault('AccessDenied', { reason: 'The issuer refused this sign-in. Begin again.' })
    if (typeof json.id_token !== 'string') throw unavailable('The issuer sent no ID token.')
    return json.id_token
  }

  async #discover(): Promise<Discovered> {
    const now = this.#clock.now()
    if (this.#discovered !== undefined && now < this.#discovered.readAt + FRESH_MS) return this.#discovered.value
    const { issuer } = this.#settings
    const { json } = await this.#request(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const { authorization_endpoint: authorizationEndpoint, token_endpoint: tokenEndpoint, jwks_uri: keysUrl } = json
    if (json.issuer !== issuer) throw unavailable('The discovery document is of another issuer than --oidc-issuer.')
    if (!isSafeIssuerUrl(authorizationEndpoint) || !isSafeIssuerUrl(tokenEndpoint) || !isSafeIssuerUrl(keysUrl))
      throw unavailable('The discovery document lacks an endpoint, or names one without TLS.')
    const methods = json.token_endpoint_auth_methods_supported
    const postsSecret =
      Array.isArray(methods) && !methods.includes('client_secret_basic') && methods.includes('client_secret_post')
    this.#discovered = { value: { authorizationEndpoint, tokenEndpoint, keysUrl, postsSecret }, readAt: now }
    return this.#discovered.value
  }

  async #issuerKeys(freshMs: number): Promise<readonly IssuerKey[]> {
    const now = this.#clock.now()
    if (this.#keys !== undefined && now < this.#keys.readAt + freshMs) return this.#keys.value
    const { keys } = (await this.#request((await this.#discover()).keysUrl)).json
    if (!Array.isArray(keys)) throw unavailable('The issuer publishes no keys.')
    const usable = keys.filter((key): key is IssuerKey => typeof key === 'object' && key !== null)
    this.#keys = { value: usable, readAt: now }
    return usable
  }

  async #request(url: string, options: RequestInit = {}): Promise<{ status: number; json: Record<string, unknown> }> {
    try {
      // A redirect could lead to another machine, also inside this network.
      const response = await fetch(url, { ...options, redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) })
      const json: unknown = JSON.parse(await limitedText(response))
      if (typeof json !== 'object' || json === null) throw new Error('not an object')
      return { status: response.status, json: json as Record<string, unknown> }
    } catch {
      throw unavailable('The issuer of --oidc-issuer cannot be reached, or its response cannot be used.')
    }
  }
}

async function limitedText({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > RESPONSE_BYTES_MAX) throw new Error('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
