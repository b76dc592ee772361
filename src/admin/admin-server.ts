/**
 * The admin server: health checks and the console's pages for any client, and the admin API for administrators and,
 * where a route says so, for every caller that is signed in. Everything but health, pages and API description requires
 * authentication.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { BackupLeases } from '../backup/lease.ts'
import type { ServerBackups } from '../backup/server-backup.ts'
import { breakOff } from '../http/break-off.ts'
import { type Certificate, listen, renew } from '../http/listen.ts'
import { isSpokenVersion, type RawRequest, splitTarget } from '../http/raw-request.ts'
import type { Clock } from '../lib/clock.ts'
import { EngineUnavailable } from '../lib/engine-unavailable.ts'
import type { Random } from '../lib/random.ts'
import { Fault, faultOf } from '../model/faults.ts'
import { Accounts } from '../store/identity/accounts.ts'
import type { IdentityCache } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import type { AdminEvent } from '../telemetry/audit-log.ts'
import type { Sample } from '../telemetry/families.ts'
import { AdminResponse, beginResponse, type StartedResponse } from './admin-response.ts'
import { administratorOf, asCaller, claimedKey, signatureMismatch } from './administrator.ts'
import { type BegunSession, ConsoleAccess, isFromConsolePage } from './console/console-access.ts'
import { ConsoleAddress, type ConsoleSettings } from './console/console-address.ts'
import { type ConsoleFiles, ConsolePages } from './console/console-pages.ts'
import { credentialNamed } from './console/oidc/named-credential.ts'
import type { OidcSignIn } from './console/oidc/oidc-sign-in.ts'
import type { ConsoleSession, Sessions, SignedInPerson } from './console/sessions.ts'
import { FailedAttempts } from './failed-attempts.ts'
import type { FsckRound } from './fsck-round.ts'
import { openApi } from './openapi.ts'
import { bytesOf, inputOf, rawRequest } from './request-input.ts'
import {
  type AdminCaller,
  type AdminContext,
  type ExplainAccess,
  isByteStream,
  isLineStream,
  type Route,
  type RouteMatch,
  type RouteTable,
} from './route.ts'
import { metricsText } from './routes/metrics.ts'
import { BeginOidcSignIn, FinishOidcSignIn, GetSignInOptions } from './routes/oidc.ts'
import { SignOut, sessionShown } from './routes/session.ts'
import { type ScrapeAccess, scrapeExtent } from './scraper.ts'
import type { ScrubRound } from './scrub-round.ts'

const HTTP_OPTIONS = { maxHeaderSize: 16 * 1024, headersTimeout: 30_000, requestTimeout: 60_000 } as const

export interface AdminServerParts {
  readonly store: Store
  readonly directory: IdentityCache
  readonly routes: RouteTable
  readonly clock: Clock
  readonly random: Random
  readonly region: string
  /** Requests may be signed for any region. */
  readonly anyRegion?: boolean
  readonly certificate?: Certificate | undefined
  readonly explain: ExplainAccess
  /** Outlives this server, which may be replaced by one with a new certificate. */
  readonly scrub: ScrubRound
  readonly fsck: FsckRound
  /** Samples of all processes of the server. */
  readonly collectMetrics: () => Promise<Sample[]>
  readonly facts: AdminContext['facts']
  readonly inspection?: AdminContext['inspection']
  readonly scraping: ScrapeAccess
  readonly backups: BackupLeases
  readonly serverBackups: ServerBackups
  readonly isReady: () => Promise<boolean>
  readonly console: ConsoleSettings
  /** Outlive this server, as `scrub` does. */
  readonly sessions: Sessions
  /** Outlives this server as well; undefined when it is not configured. */
  readonly oidc?: OidcSignIn | undefined
  readonly files: ConsoleFiles
  /** Reads and deletes are served, writes refused. */
  readonly isDiskFull?: () => boolean
  /** Called once per response of the admin API. */
  readonly record: (act: AdminEvent) => void
  /** Receives internal errors, not faults of the client. */
  readonly onError: (error: unknown, requestId: string) => void
}

/** Log fields, filled as they become known. */
interface RequestLogFields {
  readonly requestId: string
  route: string
  caller: string | undefined
  person?: SignedInPerson | undefined
  /** The cookie that the response sets. */
  cookie?: string
}

interface SignInRequest {
  readonly route: Route
  readonly origin: string
  readonly input: Readonly<Record<string, unknown>>
  readonly known: RequestLogFields
}

interface Authenticated {
  readonly caller: AdminCaller
  readonly isAdministrator: boolean
  readonly session?: ConsoleSession | undefined
  readonly objectUrl: string | undefined
  readonly body: AsyncIterable<Buffer>
}

/** The query of a readiness check for clients that only read. */
const READS_ONLY = 'for=reads'
const DISK_FULL = 'disk full: reads and deletes are served, writes are refused\n'

export class AdminServer {
  readonly #parts: AdminServerParts
  readonly #server: Server | SecureServer
  readonly #accounts: Accounts
  readonly #attempts: FailedAttempts
  readonly #decoySecret: string
  readonly #console: ConsoleAccess
  readonly #pages: ConsolePages
  readonly #address: ConsoleAddress

  constructor(parts: AdminServerParts) {
    this.#parts = parts
    this.#accounts = new Accounts(parts.store.context)
    this.#attempts = new FailedAttempts(parts.clock)
    this.#decoySecret = parts.random.bytes(30).toString('base64url')
    const { certificate, sessions, files, random } = parts
    const address = new ConsoleAddress(parts.console, certificate)
    this.#address = address
    const decoySecret = this.#decoySecret
    this.#console = new ConsoleAccess({ address, sessions, attempts: this.#attempts, decoySecret })
    this.#pages = new ConsolePages({ address, files, random })
    this.#server =
      certificate === undefined ? createServer(HTTP_OPTIONS) : createSecureServer({ ...HTTP_OPTIONS, ...certificate })
    // Every response that waits for its client listens for the end of the connection.
    this.#server.on(certificate === undefined ? 'connection' : 'secureConnection', (socket: Socket) => {
      socket.setMaxListeners(0)
    })
    this.#server.on('request', (message: IncomingMessage, response: ServerResponse) => {
      message.on('error', () => {})
      response.on('error', () => {})
      this.#serve(message, response).catch((error: unknown) => {
        this.#parts.onError(error, '')
        breakOff(response, message.socket)
      })
    })
  }

  listen(host: string, port: number): Promise<AddressInfo> {
    return listen(this.#server, host, port)
  }

  /** Uses this certificate for new connections; false where the runtime does not support that. */
  renew(certificate: Certificate): boolean {
    this.#address.renew(certificate)
    return renew(this.#server, certificate)
  }

  /** Refuses new connections and waits for requests in flight. */
  close(): Promise<void> {
    return new Promise(resolve => {
      this.#server.close(() => resolve())
      this.#server.closeIdleConnections()
    })
  }

  async #serve(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const { path, query } = splitTarget(message.url ?? '')
    const reply = new AdminResponse(message, response, this.#parts.clock)
    if (!isSpokenVersion(message.httpVersion))
      return reply.plainAndClose(400, 'Only HTTP/1.0 and HTTP/1.1 are supported.\n')
    if (path === '/health/live') return reply.plain(200, 'live\n')
    if (await this.#pages.serve(message, reply, () => this.#isReady())) return
    if (path === '/health/ready') {
      const ready = await this.#isReady()
      const isFull = ready && this.#parts.isDiskFull?.() === true
      if (isFull) return reply.plain(query === READS_ONLY ? 200 : 503, DISK_FULL)
      return reply.plain(ready ? 200 : 503, ready ? 'ready\n' : 'not ready\n')
    }
    const known: RequestLogFields = {
      requestId: this.#parts.random.bytes(8).toString('hex').toUpperCase(),
      route: '',
      caller: '',
    }
    try {
      const { status, answer } = await this.#run(message, path, known)
      const stream = await startStream(answer, message)
      this.#record(known, { status, code: 'ok' }, message)
      if (known.cookie !== undefined) reply.setCookie(known.cookie)
      if (stream === undefined) await reply.json(status, answer)
      else await reply.stream(stream, error => this.#parts.onError(error, known.requestId))
    } catch (error) {
      const fault = this.#asFault(error, known.requestId)
      const { status, code } = fault
      this.#record(known, { status, code, message: String(fault.detail.reason ?? fault.message) }, message)
      await reply.fault(fault, known.requestId)
    }
  }

  #isReady(): Promise<boolean> {
    return this.#parts.isReady().catch(() => false)
  }

  async #run(
    message: IncomingMessage,
    path: string,
    known: RequestLogFields,
  ): Promise<{ status: number; answer: unknown }> {
    const found = this.#parts.routes.find(message.method ?? '', path)
    if (found === undefined) throw new Fault('NoSuchEntity', { reason: 'There is no route at this path.' })
    known.route = found.route.name
    // The description is the same on every server of a version and discloses nothing about this one.
    if (found.route.permission === 'anyone') return { status: 200, answer: openApi(this.#parts.routes.routes) }
    const request = rawRequest(message)
    const scrape = found.route.permission === 'scraper' ? scrapeExtent(request, this.#parts.scraping) : undefined
    if (scrape !== undefined) return { status: 200, answer: metricsText(this.#parts, scrape) }
    if (found.route.permission === 'sign-in') return this.#signInOrOut(message, request, found, known)
    const identities = await this.#parts.directory.now()
    const { body, ...authenticated } = await this.#authenticate(message, request, identities, found)
    known.caller = authenticated.caller.accessKey
    known.person = authenticated.session?.person
    const input = await inputOf(found, request, body, message)
    const ctx = this.#context(authenticated, identities, known.requestId)
    const { route } = found
    const answer = await route.run(ctx, input)
    return { status: route.isPending?.(answer) === true ? 202 : route.status, answer }
  }

  async #signInOrOut(
    message: IncomingMessage,
    request: RawRequest,
    found: RouteMatch,
    known: RequestLogFields,
  ): Promise<{ status: number; answer: unknown }> {
    const { origin } = this.#console.checkOrigin(message)
    const input = await inputOf(found, request, bytesOf(message), message)
    const { route } = found
    const { status } = route
    const { oidc } = this.#parts
    if (route === SignOut) {
      known.cookie = this.#console.signOut(message)
      return { status, answer: undefined }
    }
    if (route === GetSignInOptions) return { status, answer: oidc ? { oidc: { name: oidc.settings.name } } : {} }
    if (route === BeginOidcSignIn) {
      const { url, cookie } = await configured(oidc).begin(message, origin)
      known.cookie = cookie
      return { status, answer: { url } }
    }
    const identities = await this.#parts.directory.now()
    const begun = await this.#beginSession(message, identities, { route, origin, input, known })
    const { token, cookie, ...signedIn } = begun
    known.caller = signedIn.caller.accessKey
    known.cookie = cookie
    const isAdministrator = identities.mayAdminister(signedIn.caller)
    const ctx = this.#context({ ...signedIn, isAdministrator }, identities, known.requestId)
    return { status, answer: { token, ...(await sessionShown(ctx)) } }
  }

  async #beginSession(
    message: IncomingMessage,
    identities: AdminContext['identities'],
    { route, origin, input, known }: SignInRequest,
  ): Promise<BegunSession> {
    if (route !== FinishOidcSignIn) {
      const given = { accessKey: String(input.accessKey), secretKey: String(input.secretKey) }
      return this.#console.signIn(message, identities, given)
    }
    const returned = { code: String(input.code), state: String(input.state) }
    const { name, person } = await configured(this.#parts.oidc).finish(message, origin, returned)
    known.person = person
    return this.#console.begin(message, await credentialNamed(name, this.#accounts, identities), person)
  }

  /** By the session of the console's page, or by a signature. */
  async #authenticate(
    message: IncomingMessage,
    request: RawRequest,
    identities: AdminContext['identities'],
    { route }: RouteMatch,
  ): Promise<Authenticated> {
    if (!isFromConsolePage(message)) {
      const { administrator, body } = await this.#administrator(message, request, identities)
      return { caller: administrator, isAdministrator: true, objectUrl: this.#console.objectUrl(message), body }
    }
    const signedIn = await this.#console.signedIn(message, identities)
    const isAdministrator = identities.mayAdminister(signedIn.caller)
    if (!isAdministrator && route.permission !== 'signed-in') {
      throw new Fault('AccessDenied', { reason: 'Only a key of an account that is an administrator may do this.' })
    }
    return { ...signedIn, isAdministrator, body: bytesOf(message) }
  }

  /** Authenticates the administrator. A valid signature is accepted despite failures from the same address. */
  async #administrator(
    message: IncomingMessage,
    request: RawRequest,
    identities: AdminContext['identities'],
  ): ReturnType<typeof administratorOf> {
    const address = message.socket.remoteAddress ?? ''
    const wait = this.#attempts.retryAfterSeconds(address)
    const named = await claimedKey(request, identities)
    const { region, anyRegion = false, clock } = this.#parts
    const proof = { identities, region, anyRegion, now: clock.now(), decoySecret: this.#decoySecret }
    try {
      if (wait > 0 && named?.exists !== true) throw signatureMismatch()
      return await administratorOf(request, bytesOf(message), proof)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      this.#attempts.recordFailure(address)
      // Known and unknown keys are delayed alike, so that the delay does not reveal which keys exist.
      if (named !== undefined && error.detail.wrongSignature === true) await this.#attempts.delayResponse(named)
      const isUnauthenticated = named === undefined || error.detail.wrongSignature === true
      if (wait > 0 && isUnauthenticated) throw new Fault('TooManyRequests', { retryAfter: wait })
      throw error
    }
  }

  #context(
    { caller, isAdministrator, session, objectUrl }: Omit<Authenticated, 'body'>,
    identities: AdminContext['identities'],
    requestId: string,
  ): AdminContext {
    const { store, clock, region, explain, collectMetrics, facts, inspection } = this.#parts
    const { scrub, fsck, backups, serverBackups } = this.#parts
    const known = { identities, caller, requestId, clock, region, explain, collectMetrics, facts }
    const by = { inspection, isAdministrator, session, objectUrl, store: asCaller(caller, store, requestId) }
    return { ...known, ...by, scrub, fsck, backups, serverBackups, accounts: this.#accounts }
  }

  #record(
    { requestId, route, caller, person }: RequestLogFields,
    answer: Pick<AdminEvent, 'status' | 'code' | 'message'>,
    { socket, url = '', method = '' }: IncomingMessage,
  ): void {
    const { path } = splitTarget(url)
    this.#parts.record({
      requestId,
      method,
      route,
      path,
      caller,
      person,
      ...answer,
      remoteAddress: socket.remoteAddress,
    })
  }

  #asFault(error: unknown, requestId: string): Fault {
    const fault = faultOf(error)
    if (fault === undefined || error instanceof EngineUnavailable) this.#parts.onError(error, requestId)
    return fault ?? new Fault('InternalError')
  }
}

function configured(oidc: OidcSignIn | undefined): OidcSignIn {
  if (oidc !== undefined) return oidc
  throw new Fault('InvalidRequest', { reason: 'OpenID Connect is not configured. Set --oidc-issuer.' })
}

async function startStream(answer: unknown, message: IncomingMessage): Promise<StartedResponse | undefined> {
  if (isLineStream(answer)) return beginResponse(answer.contentType, answer.lines, message)
  return isByteStream(answer) ? beginResponse(answer.contentType, answer.bytes, message) : undefined
}
