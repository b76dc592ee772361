/**
 * G1. The steps of every request, in this order and nowhere else: dialect and route, authentication, bucket, expected
 * owner, permission, requester pays, input, body, the operation, its response. A fault at any step becomes the
 * response.
 */
import { type CredentialLookup, requestedCredential } from '../auth/parsed-signature.ts'
import { checkExpectation, checkFraming, headerValues } from '../http/raw-request.ts'
import type { Clock } from '../lib/clock.ts'
import { EngineUnavailable } from '../lib/engine-unavailable.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Caller } from '../model/caller.ts'
import { Fault, faultOf } from '../model/faults.ts'
import type { AccountLookup, Header, ObjectName, OperationContext } from '../operations/context.ts'
import { checkUnreadBody } from '../operations/integrity.ts'
import { refuseCustomerKeys } from '../operations/object/encryption.ts'
import type { Operation, OperationResponse, ResourceLevel } from '../operations/operation.ts'
import { checkExpectedOwner } from '../operations/operation.ts'
import { isRegionName } from '../rules/naming.ts'
import { authenticateRequest } from './authenticate-request.ts'
import { type AccessFacts, Authorizer } from './authorize.ts'
import { type ConsoleOrigins, consoleCors } from './console-cors.ts'
import { corsHeaders, preflight } from './cors.ts'
import { DIALECTS, type Dialect, dialectOf, mixedDialects } from './dialect.ts'
import type { Exchange } from './exchange.ts'
import { ConnectionCut, type FaultInjector } from './fault-injection.ts'
import { ImmediateRead, type ImmediateReads } from './immediate-read.ts'
import { PolicyCache } from './policy-cache.ts'
import { NO_HEADERS, RequestContext, RequestState } from './request-state.ts'
import { type Routes, routeTable } from './routes.ts'
import {
  type FetchPage,
  faultPage,
  redirectOnBucketHost,
  serveWebsite,
  type WebsiteHosts,
  websiteKey,
} from './website.ts'
import {
  type Address,
  addressOf,
  DecodedRequest,
  encodeFault,
  encodeResponse,
  hostOf,
  labelBelow,
  pathAddress,
  regionHeader,
  wireHeaders,
  withHeaders,
} from './wire-form.ts'

/** One request's access to the store. */
interface Session {
  readonly facts: AccessFacts
  readonly store: OperationContext['store']
  /** Rejects when the client should not wait any longer for an outcome; the operation goes on. */
  readonly expired?: Promise<never> | undefined
}

/** The reads of a request; until it is authenticated, only those of identities. */
interface RequestReads {
  /** Accounts and keys at the start of the request. */
  identities(): MaybePromise<IdentityLookup>
  /** Facts for one request, and a store whose commits check that they still hold. */
  session(caller: Caller, requestId: string): Session
  /** The operation has run; handles it opened stay open. */
  end(): void
}

interface PipelineParts {
  /** Reads ahead what the request will probably need, where the engine is behind a network. */
  readonly begin: (target: ObjectName, onlyReads: boolean) => MaybePromise<RequestReads>
  readonly facts: AccessFacts
  /** Present where the engine returns records at once. */
  readonly immediate?: ImmediateReads | undefined
  /** True for the error of a stale authorization. */
  readonly isStale: (error: unknown) => boolean
  readonly operations: readonly Operation[]
  readonly clock: Clock
  readonly region: string
  /** D28. Requests may be signed for any region, and the response names that region. */
  readonly anyRegion: boolean
  /** D31. */
  readonly sigV2: boolean
  /** The dialect of unsigned requests without a header of either dialect. */
  readonly anonymousDialect: Dialect['name']
  readonly baseHosts: readonly string[]
  readonly website: WebsiteHosts
  /** D24. Customer-provided keys are refused on connections without TLS. */
  readonly tlsForCustomerKeys: boolean
  /**
   * Further times that a signature may be dated from: a program that moves the server's clock does not move its
   * clients'.
   */
  readonly clientTimes?: (() => readonly number[]) | undefined
  readonly faultInjector?: FaultInjector | undefined
  /** The console of this server, whose page may send requests; undefined without one. */
  readonly console?: ConsoleOrigins | undefined
  /** Called with every error that is not a fault of the client. */
  readonly onError: (error: unknown, requestId: string) => void
}

/** Accounts, and the keys that requests are signed with. */
type IdentityLookup = AccountLookup & CredentialLookup

const ATTEMPTS_MAX = 10
const NO_TIMES: readonly number[] = []
const CHARGED: readonly Header[] = [[':request-charged', 'requester']]

const onlyReads = ({ match }: Operation): boolean => match.method === 'GET' || match.method === 'HEAD'

const needsBucket = ({ match, withoutBucket }: Operation): boolean => match.on !== 'service' && !withoutBucket

const levelOf = ({ bucket, key }: Address): ResourceLevel =>
  bucket === '' ? 'service' : key === '' ? 'bucket' : 'object'

function refusalReason({ detail: { why, lock } }: Fault): string | undefined {
  if (why !== undefined) return String(why)
  return lock === undefined ? undefined : `lock: ${lock}`
}

export class Pipeline {
  readonly #parts: PipelineParts
  readonly #routes: Routes
  readonly #policies = new PolicyCache()
  readonly #immediateRead: ImmediateRead | undefined

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#routes = routeTable(parts.operations)
    const { immediate: reads, faultInjector, website } = parts
    if (reads === undefined || faultInjector !== undefined) return
    this.#immediateRead = new ImmediateRead({ ...parts, reads, websiteHosts: website.hosts }, this.#policies)
  }

  /** For a GET or HEAD: the response without the steps of `handle`; undefined if it needs them. */
  readImmediately(exchange: Exchange, wholeBytesMax?: number): MaybePromise<RequestState | undefined> {
    return this.#immediateRead?.answer(exchange, wholeBytesMax)
  }

  /** Resolves when the response is known; one that cannot wait for that begins through the exchange (R61, R95). */
  async handle(exchange: Exchange): Promise<RequestState> {
    const state = new RequestState()
    try {
      this.#accept(exchange, state)
      const site = labelBelow(hostOf(exchange.request), this.#parts.website.hosts)
      if (site !== undefined) return await this.#visitWebsite(exchange, state, site)
      const address = addressOf(exchange.request, this.#parts.baseHosts)
      const isPath = address.style === 'alias' && !(await this.#isBucket(address.bucket))
      this.#setAddress(exchange, state, isPath ? pathAddress(exchange.request) : address)
      const origin = state.request.header('origin')
      if (origin !== undefined) state.cors = consoleCors(exchange, this.#parts.console)
      if (exchange.request.method === 'OPTIONS') return await this.#preflight(state)
      if (origin !== undefined && state.cors.length === 0) state.cors = await this.#corsHeaders(exchange, state, origin)
      const operation = this.#route(exchange, state)
      const { faultInjector: injectFault } = this.#parts
      if (injectFault === undefined) return await this.#answer(exchange, state, operation)
      const intercepted = { ...state.address, operation: operation.name, method: exchange.request.method }
      return await injectFault(intercepted, exchange, changed => this.#answer(changed, state, operation))
    } catch (error) {
      if (error instanceof ConnectionCut) throw error
      return this.#refuse(error, exchange, state)
    }
  }

  async #answer(exchange: Exchange, state: RequestState, operation: Operation): Promise<RequestState> {
    let response = await this.#operate(exchange, state, operation)
    if (this.#mayRedirect(state, operation)) {
      const visit = { bucket: state.address.bucket, request: exchange.request, facts: this.#parts.facts }
      response = await redirectOnBucketHost(response, visit)
    }
    state.response = encodeResponse(response, state)
    return state
  }

  /** A read is retried when its authorization is stale; a request with a body cannot be, since the body is consumed. */
  async #operate(exchange: Exchange, state: RequestState, operation: Operation): Promise<OperationResponse> {
    const { clock, region, anyRegion, tlsForCustomerKeys } = this.#parts
    for (let attempt = 1; ; attempt++) {
      const { bucket: name, key } = state.address
      const target = { bucket: name, key, versionId: state.request.query('versionId') }
      let reads = this.#parts.begin(target, onlyReads(operation))
      if (reads instanceof Promise) reads = await reads
      try {
        let identities = reads.identities()
        if (identities instanceof Promise) identities = await identities
        const authenticated = this.#authenticate(exchange, state, operation, identities)
        if (authenticated instanceof Promise) await authenticated
        const session = reads.session(state.caller!, exchange.requestId)
        let bucket = needsBucket(operation) ? session.facts.bucket(state.address.bucket) : undefined
        if (bucket instanceof Promise) bucket = await bucket
        this.#enterBucket(state, bucket, identities)
        const permissions = operation.permission(state.request, state.target)
        const inputs = { accounts: identities, now: clock.now(), region, policies: this.#policies }
        const authorizer = new Authorizer(exchange, state, { facts: session.facts, ...inputs })
        await authorizer.check(permissions)
        const successHeaders = isCharged(state) ? CHARGED : NO_HEADERS
        if (tlsForCustomerKeys && !exchange.secure) refuseCustomerKeys(state.request)
        const input = operation.decode(state.request)
        if (!operation.takesForm) exchange.sendContinue()
        const context = new RequestContext(exchange, state, {
          store: session.store,
          accounts: identities,
          anyRegion,
          clock,
          authorizer,
          permissions,
          successHeaders,
          reportDamage: error => this.#parts.onError(error, exchange.requestId),
        })
        if (!onlyReads(operation) || state.body.mayDiffer) await checkUnreadBody(operation, state.request, state.body)
        const running = operation.run(context, input)
        const { expired } = session
        const bounded =
          expired === undefined ? running : this.#unlessExpired(Promise.resolve(running), expired, exchange.requestId)
        return withHeaders(await bounded, successHeaders)
      } catch (error) {
        if (!this.#parts.isStale(error)) throw error
        if (!onlyReads(operation) || attempt === ATTEMPTS_MAX) throw new Fault('OperationAborted')
      } finally {
        reads.end()
      }
    }
  }

  /** An operation whose client has been answered still reports an error that ends the process. */
  async #unlessExpired<T>(running: Promise<T>, expired: Promise<never>, requestId: string): Promise<T> {
    try {
      return await Promise.race([running, expired])
    } catch (error) {
      running.catch(late => {
        if (late !== error && faultOf(late) === undefined) this.#parts.onError(late, requestId)
      })
      throw error
    }
  }

  /** Determines the dialect, and refuses requests that no operation could match. */
  #accept({ request, slot }: Exchange, state: RequestState): void {
    const { dialect, isMixed } = dialectOf(request, DIALECTS[this.#parts.anonymousDialect])
    state.dialect = dialect
    if (isMixed) throw mixedDialects()
    if (slot.isOverLimit) throw new Fault('SlowDown')
    checkFraming(request)
    checkExpectation(request)
  }

  /** R4. A host with a bucket's name addresses that bucket; otherwise it is another name of this server. */
  async #isBucket(name: string): Promise<boolean> {
    try {
      await this.#parts.facts.bucket(name)
      return true
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }

  #setAddress({ request }: Exchange, state: RequestState, address: Address): void {
    state.address = address
    state.resource = `/${address.bucket}${address.key === '' ? '' : `/${address.key}`}`
    if (address.bucket !== '') state.bucketRegion = this.#parts.region
    state.request = new DecodedRequest(request, state.dialect)
  }

  #corsHeaders({ request }: Exchange, { address }: RequestState, origin: string): Promise<Header[]> {
    return corsHeaders(this.#parts.facts, address.bucket, request.method, origin)
  }

  async #preflight(state: RequestState): Promise<RequestState> {
    state.operationName = 'Preflight'
    const isConsole = state.cors.length > 0
    const headers = isConsole ? [] : await preflight(this.#parts.facts, state.address, state.request)
    state.response = encodeResponse({ headers }, state)
    return state
  }

  #route({ request: { method } }: Exchange, state: RequestState): Operation {
    const operation = this.#routes.find(method, levelOf(state.address), state.request)
    state.operation = operation
    state.operationName = operation.name
    return operation
  }

  #authenticate(
    exchange: Exchange,
    state: RequestState,
    operation: Operation,
    identities: IdentityLookup,
  ): MaybePromise<void> {
    const { clock, region, anyRegion, sigV2, clientTimes, facts } = this.#parts
    const { style, bucket } = state.address
    return authenticateRequest(exchange, state, operation, {
      scheme: state.dialect.scheme,
      hostBucket: style === 'path' ? '' : `/${bucket}`,
      now: clock.now(),
      clientTimes: clientTimes?.() ?? NO_TIMES,
      region,
      anyRegion,
      sigV2,
      findCredential: accessKey => identities.findCredential(accessKey),
      facts,
    })
  }

  #enterBucket(state: RequestState, bucket: Bucket | undefined, accounts: AccountLookup): void {
    state.bucket = bucket
    state.auditFindings = []
    if (bucket === undefined) return
    const expected = state.request.header(':expected-bucket-owner')
    checkExpectedOwner(expected, bucket.owner, { accounts, behavior: state.dialect.behavior })
  }

  /** Serves a bucket as a website: pages are read as an anonymous caller, with or without credentials. */
  async #visitWebsite(exchange: Exchange, state: RequestState, bucket: string): Promise<RequestState> {
    const [{ request }, { facts }] = [exchange, this.#parts]
    state.operationName = 'Website'
    try {
      const key = websiteKey(request)
      state.resource = `/${bucket}/${key}`
      state.cors = await corsHeaders(facts, bucket, request.method, headerValues(request, 'origin')[0])
      const fetch: FetchPage = (page, pageKey) => this.#fetchPage(exchange, state, page, { bucket, key: pageKey })
      const { response, code } = await serveWebsite({ ...exchange, bucket, key, facts, fetch, dialect: state.dialect })
      state.code = code
      state.response = encodeResponse(response, state)
    } catch (error) {
      const fault = this.#asFault(error, exchange.requestId)
      state.response = faultPage(fault, exchange, state)
      state.code = fault.code
    }
    return state
  }

  async #fetchPage(
    exchange: Exchange,
    state: RequestState,
    page: Parameters<FetchPage>[0],
    { bucket, key }: { readonly bucket: string; readonly key: string },
  ): Promise<OperationResponse> {
    const request = { ...page, target: '/' }
    state.address = { bucket, key, style: 'host' }
    state.request = new DecodedRequest(request, state.dialect)
    const operation = this.#routes.find(page.method, 'object', state.request)
    state.operation = operation
    try {
      return await this.#operate({ ...exchange, request }, state, operation)
    } finally {
      // A visit is recorded as such, not as the operation that reads the page.
      state.operation = undefined
    }
  }

  /** R28. */
  #mayRedirect({ caller, address }: RequestState, operation: Operation): boolean {
    const isRead = operation.match.on === 'object' && onlyReads(operation)
    return isRead && this.#parts.website.onBucketHost && address.style === 'host' && caller?.kind === 'anonymous'
  }

  #refuse(error: unknown, exchange: Exchange, state: RequestState): RequestState {
    const original = this.#asFault(error, exchange.requestId)
    const fault = state.early?.inBody(original) ?? original
    const response = encodeFault(fault, exchange, state)
    if (state.bucketRegion !== undefined && state.caller === undefined) {
      state.bucketRegion = this.#requestedRegion(exchange, state)
    }
    response.headers.push(...wireHeaders(state.cors, state.dialect), ...regionHeader(state))
    state.response = response
    state.code = fault.code
    state.refusalReason = refusalReason(fault)
    return state
  }

  /** D28. Where every region is accepted, a fault names the region the client signs for. */
  #requestedRegion({ request }: Exchange, { dialect }: RequestState): string {
    const { region, anyRegion } = this.#parts
    const requested = anyRegion ? requestedCredential(request, dialect.scheme)?.region : undefined
    return requested !== undefined && isRegionName(requested) ? requested : region
  }

  #asFault(error: unknown, requestId: string): Fault {
    const fault = faultOf(error)
    // The client learns only that it should try again; the log says which engine failed and why.
    if (fault === undefined || error instanceof EngineUnavailable) this.#parts.onError(error, requestId)
    return fault ?? new Fault('InternalError')
  }
}

/** R8. Callers other than the owner of a requester-pays bucket must accept the charge. */
function isCharged({ request, bucket, caller }: RequestState): boolean {
  if (bucket === undefined || !bucket.requesterPays) return false
  if (caller === undefined || caller.kind === 'anonymous') throw new Fault('AccessDenied')
  if (caller.account.canonicalId === bucket.owner) return false
  const payer =
    request.header(':request-payer') ?? request.query('x-amz-request-payer') ?? request.query('x-svc-request-payer')
  if (payer !== 'requester') throw new Fault('AccessDenied')
  return true
}
