/**
 * G1. What happens to every request, in this order and nowhere else: dialect and route, authentication, bucket,
 * expected owner, permission, requester pays, input, body, the operation itself. A fault at any point is the answer.
 */
import type { Authentication } from '../auth/authentication.ts'
import { claimedCredential } from '../auth/claim.ts'
import { checkExpectation, checkFraming } from '../http/framing.ts'
import { headerValues, type RawRequest } from '../http/raw-request.ts'
import type { Clock } from '../lib/clock.ts'
import { andFinally, andThen, type MaybePromise, orElse } from '../lib/maybe-promise.ts'
import type { Bucket } from '../model/bucket.ts'
import { actorOf, type Caller } from '../model/caller.ts'
import { Fault, faultOf } from '../model/faults.ts'
import type { Actor } from '../model/ledger.ts'
import type { AccountLookup, OperationScope } from '../operations/context.ts'
import { checkExpectedOwner } from '../operations/expected-owner.ts'
import { refuseCustomerKeys } from '../operations/object/customer-key.ts'
import type { Header, Operation, OperationResponse, ResourceLevel } from '../operations/operation.ts'
import { checkUnreadBody } from '../operations/unread-body.ts'
import { isRegionName } from '../rules/naming.ts'
import type { AccessQuestion } from './access-question.ts'
import { type Address, addressOf, pathAddress } from './address.ts'
import { type AuthenticatedRequest, authenticateRequest, type RoutedRequest } from './authenticate-request.ts'
import { type AccessFacts, Authorizer } from './authorize.ts'
import { corsHeaders, preflight } from './cors.ts'
import { DecodedRequest } from './decoded-request.ts'
import { DIALECTS, type Dialect, dialectOf, mixedDialects } from './dialect.ts'
import { EarlyResponse } from './early-response.ts'
import { encodeFault, type WireResponse, wireHeaders } from './encode-response.ts'
import type { IncomingRequest, RequestOutcome } from './exchange.ts'
import { ConnectionCut, type FaultInjector } from './fault-injection.ts'
import { type AuditFinding, OperationContext, type OperationContextParts } from './operation-context.ts'
import { NO_HEADERS, RequestState, withHeaders } from './request-state.ts'
import { type Routes, routeTable } from './routes.ts'
import {
  type FetchPage,
  faultPage,
  redirectOnBucketHost,
  serveWebsite,
  siteOf,
  type WebsiteHosts,
  websiteKey,
} from './website.ts'

/** What is found and done for one request. */
export interface Session {
  readonly facts: AccessFacts
  readonly store: OperationScope['store']
  /** The operation has run; what it opened stays open. */
  end(): void
}

export interface PipelineParts {
  /** For one request of somebody: facts, and the store in which what was judged on them still holds. */
  readonly session: (actor: Actor, onlyReads: boolean) => Session
  /** Who there is, as of the moment at which a request begins. */
  readonly identities: () => MaybePromise<IdentityLookup>
  readonly facts: AccessFacts
  /** True for the error that says: what this request was judged on has changed. */
  readonly isStale: (error: unknown) => boolean
  readonly operations: readonly Operation[]
  readonly clock: Clock
  readonly region: string
  /** D28. Requests may be signed for any region, and are answered as from there. */
  readonly anyRegion: boolean
  /** D31. */
  readonly sigV2: boolean
  /** The dialect of requests that do not show one: unsigned, without a header of either dialect. */
  readonly anonymousDialect: Dialect['name']
  readonly baseHosts: readonly string[]
  readonly website: WebsiteHosts
  /** D24. Keys that customers bring are refused where others could read them on the way. */
  readonly tlsForCustomerKeys: boolean
  /** What clients may take for now, beside what the clock says: where somebody moves it, they do not know. */
  readonly clientTimes?: (() => readonly number[]) | undefined
  /** Stands between a request and its answer, when somebody wants things to go wrong. */
  readonly interfere?: FaultInjector | undefined
  /** Told about everything that is not a fault of the client's. */
  readonly onError: (error: unknown, requestId: string) => void
}

/** Accounts by what names them, and the keys that requests are signed with. */
export type IdentityLookup = AccountLookup & Pick<Authentication, 'findCredential'>

const JUDGED_TRIES_MAX = 10
const NO_TIMES: readonly number[] = []
const CHARGED: readonly Header[] = [[':request-charged', 'requester']]

const onlyReads = ({ match }: Operation): boolean => match.method === 'GET' || match.method === 'HEAD'

const hasNoBucket = ({ match, withoutBucket }: Operation): boolean => match.on === 'service' || withoutBucket

/** A request that is worked on: everything that is known of it, and what it is judged and done with. */
interface Work extends Omit<RoutedRequest, 'view'>, AuthenticatedRequest, Omit<Session, 'end'> {
  readonly incoming: IncomingRequest
  readonly accounts: AccountLookup
}

type Judged = Pick<OperationContextParts, 'asking' | 'needs' | 'authorizer' | 'bucket' | 'findings'>

const levelOf = ({ bucket, key }: Address): ResourceLevel =>
  bucket === '' ? 'service' : key === '' ? 'bucket' : 'object'

function whyRefused({ detail: { why, lock } }: Fault): string | undefined {
  if (why !== undefined) return String(why)
  return lock === undefined ? undefined : `lock: ${lock}`
}

export class Pipeline {
  readonly #parts: PipelineParts
  readonly #routes: Routes

  constructor(parts: PipelineParts) {
    this.#parts = parts
    this.#routes = routeTable(parts.operations)
  }

  handle(incoming: IncomingRequest): Promise<RequestOutcome> {
    let begin: (outgoing: WireResponse) => void = () => {}
    const known = new RequestState(new EarlyResponse(this.#parts.clock, outgoing => begin(outgoing)))
    const done = this.#settle(incoming, known)
    // By far the most requests wait for nothing.
    if (!(done instanceof Promise)) return Promise.resolve(done)
    return new Promise((resolve, reject) => {
      begin = outgoing => resolve({ ...known, outgoing, ended: done })
      done.then(outcome => {
        known.late.end(outcome.outgoing)
        resolve(outcome)
      }, reject)
    })
  }

  /** The whole answer, whenever it is known. */
  #settle(incoming: IncomingRequest, known: RequestState): MaybePromise<RequestOutcome> {
    return orElse(
      () => this.#address(incoming, known),
      error => this.#refused(error, incoming, known),
    )
  }

  #refused(error: unknown, incoming: IncomingRequest, known: RequestState): RequestOutcome {
    if (error instanceof ConnectionCut) throw error
    const fault = known.late.inBody(this.#asFault(error, incoming.requestId))
    const refusal = encodeFault(fault, { ...known, ...incoming, isHead: incoming.request.method === 'HEAD' })
    if (known.region !== undefined && known.caller === undefined) known.region = this.#claimedRegion(incoming, known)
    refusal.headers.push(...wireHeaders(known.cors, known.dialect), ...known.regionHeader())
    known.outgoing = refusal
    known.code = fault.code
    known.refusalReason = whyRefused(fault)
    return known
  }

  #address(incoming: IncomingRequest, known: RequestState): MaybePromise<RequestOutcome> {
    const { request } = incoming
    const { dialect, isMixed } = dialectOf(request, DIALECTS[this.#parts.anonymousDialect])
    known.dialect = dialect
    if (isMixed) throw mixedDialects()
    if (incoming.slot.isOverLimit) throw new Fault('SlowDown')
    checkFraming(request)
    checkExpectation(request)
    const site = siteOf(request, this.#parts.website)
    if (site !== undefined) return this.#visit(incoming, known, site)
    const address = addressOf(request, this.#parts.baseHosts)
    if (address.style !== 'alias') return this.#route(incoming, known, address)
    return andThen(this.#isBucket(address.bucket), is =>
      this.#route(incoming, known, is ? address : pathAddress(request)),
    )
  }

  #route(incoming: IncomingRequest, known: RequestState, address: Address): MaybePromise<RequestOutcome> {
    const { request } = incoming
    known.resource = `/${address.bucket}${address.key === '' ? '' : `/${address.key}`}`
    if (address.bucket !== '') known.region = this.#parts.region
    const view = new DecodedRequest(request, known.dialect)
    if (request.method === 'OPTIONS') return this.#preflight(known, address, view)
    const origin = view.header('origin')
    if (origin === undefined) return this.#operate(incoming, known, address, view)
    return andThen(corsHeaders(this.#parts.facts, address.bucket, request.method, origin), cors => {
      known.cors = cors
      return this.#operate(incoming, known, address, view)
    })
  }

  #operate(
    incoming: IncomingRequest,
    known: RequestState,
    address: Address,
    view: DecodedRequest,
  ): MaybePromise<RequestOutcome> {
    const { method } = incoming.request
    const operation = this.#routes.find(method, levelOf(address), view)
    known.operation = operation.name
    known.matchedOperation = operation
    const routed = { known, address, view, operation }
    const { interfere } = this.#parts
    if (interfere === undefined) return this.#answer(incoming, routed)
    const place = { ...address, operation: operation.name, method }
    return interfere(place, incoming, async asked => this.#answer(asked, routed))
  }

  #answer(incoming: IncomingRequest, routed: RoutedRequest): MaybePromise<RequestOutcome> {
    const { known, address } = routed
    const { request } = incoming
    return andThen(this.#runJudged(incoming, routed), answers => {
      if (!this.#mayRedirect(known, address, request)) return known.answered(answers)
      const honoured = redirectOnBucketHost(answers, { bucket: address.bucket, request, facts: this.#parts.facts })
      return andThen(honoured, changed => known.answered(changed))
    })
  }

  /** R4. A host of a bucket's own name leads to that bucket; where there is none, it is one more name of ours. */
  async #isBucket(name: string): Promise<boolean> {
    try {
      await this.#parts.facts.bucket(name)
      return true
    } catch (error) {
      if (error instanceof Fault) return false
      throw error
    }
  }

  async #preflight(known: RequestState, address: Address, view: DecodedRequest): Promise<RequestOutcome> {
    known.operation = 'Preflight'
    return known.answered({ headers: await preflight(this.#parts.facts, address, view) })
  }

  /** A bucket as a website: pages are read as anybody may, whoever asks. */
  async #visit(incoming: IncomingRequest, known: RequestState, bucket: string): Promise<RequestOutcome> {
    const [{ request }, { facts }] = [incoming, this.#parts]
    known.operation = 'Website'
    try {
      const key = websiteKey(request)
      known.resource = `/${bucket}/${key}`
      known.cors = await corsHeaders(facts, bucket, request.method, headerValues(request, 'origin')[0])
      const fetch: FetchPage = async (asked, page) => {
        const anonymous = { ...asked, target: '/' }
        const view = new DecodedRequest(anonymous, known.dialect)
        const operation = this.#routes.find(asked.method, 'object', view)
        const address: Address = { bucket, key: page, style: 'host' }
        return this.#runJudged({ ...incoming, request: anonymous }, { known, address, view, operation })
      }
      const { answers, code } = await serveWebsite({ ...incoming, bucket, key, facts, fetch, dialect: known.dialect })
      known.code = code
      return known.answered(answers)
    } catch (error) {
      const fault = this.#asFault(error, incoming.requestId)
      known.outgoing = faultPage(fault, { ...known, ...incoming, isHead: request.method === 'HEAD' })
      known.code = fault.code
      return known
    }
  }

  /** R28. */
  #mayRedirect({ caller, matchedOperation: asked }: RequestState, { style }: Address, { method }: RawRequest): boolean {
    const isRead = asked?.match.on === 'object' && (method === 'GET' || method === 'HEAD')
    return isRead && this.#parts.website.onBucketHost && style === 'host' && caller?.kind === 'anonymous'
  }

  /** What changed after it was judged is judged again, unless the body is gone by then. */
  #runJudged(incoming: IncomingRequest, routed: RoutedRequest, tries = 1): MaybePromise<OperationResponse> {
    return orElse(
      () => this.#run(incoming, routed),
      error => {
        if (!this.#parts.isStale(error)) throw error
        if (!onlyReads(routed.operation) || tries === JUDGED_TRIES_MAX) throw new Fault('OperationAborted')
        return this.#runJudged(incoming, routed, tries + 1)
      },
    )
  }

  #run(incoming: IncomingRequest, routed: RoutedRequest): MaybePromise<OperationResponse> {
    const { known, address, operation } = routed
    return andThen(this.#parts.identities(), accounts =>
      andThen(this.#enter(incoming, routed, accounts), ({ caller, region, signatureVersion, view, body, key }) => {
        known.caller = caller
        known.signatureVersion = signatureVersion
        if (known.region !== undefined) known.region = region
        const session = this.#parts.session(actorOf(caller, incoming.requestId), onlyReads(operation))
        const { facts, store } = session
        const who = { caller, region, signatureVersion }
        const work: Work = { known, address, operation, incoming, ...who, view, body, key, facts, store, accounts }
        return andFinally(
          () => this.#judge(work),
          () => session.end(),
        )
      }),
    )
  }

  #judge(work: Work): MaybePromise<OperationResponse> {
    const { operation, address, facts } = work
    const found = hasNoBucket(operation) ? undefined : facts.bucket(address.bucket)
    return andThen(found, bucket => this.#judgeIn(work, bucket))
  }

  #judgeIn(work: Work, bucket: Bucket | undefined): MaybePromise<OperationResponse> {
    const { known, operation, view, caller, incoming, accounts } = work
    const findings: AuditFinding[] = []
    known.auditFindings = findings
    known.bucket = bucket
    const expected = view.header(':expected-bucket-owner')
    if (bucket !== undefined) checkExpectedOwner(expected, bucket.owner, { accounts, behavior: known.dialect.behavior })
    const target = { bucket: work.address.bucket, key: work.key, versionId: view.query('versionId') }
    const asking: AccessQuestion = {
      request: incoming.request,
      view,
      caller,
      signatureVersion: work.signatureVersion,
      operation,
      target,
      now: this.#parts.clock.now(),
      remoteAddress: incoming.remoteAddress,
      secure: incoming.secure,
      tlsVersion: incoming.tlsVersion,
      region: this.#parts.region,
      bodyConditions: [],
      deferred: operation.deferredKeys.length > 0 ? { keys: operation.deferredKeys, assume: 'allow' } : undefined,
    }
    const needs = operation.permission(view, target)
    const authorizer = new Authorizer(work.facts, accounts, judgement => findings.push(judgement))
    return andThen(authorizer.check(asking, needs, bucket), () =>
      this.#perform(work, { asking, needs, authorizer, findings, bucket }),
    )
  }

  /** Does what is asked, and what may be done. */
  #perform(work: Work, judged: Judged): MaybePromise<OperationResponse> {
    const { known, operation, view, caller, incoming, store, accounts, address, body } = work
    const { asking, needs, authorizer, findings, bucket } = judged
    const charge = this.#charge(view, bucket, caller) ? CHARGED : NO_HEADERS
    if (this.#parts.tlsForCustomerKeys && !incoming.secure) refuseCustomerKeys(view)
    const input = operation.decode(view)
    if (!operation.takesForm) incoming.sendContinue()
    const calling = new OperationContext({
      store,
      accounts,
      region: work.region,
      anyRegion: this.#parts.anyRegion,
      dialect: known.dialect,
      address,
      asking,
      bucket,
      body,
      needs,
      authorizer,
      findings,
      late: known,
      always: charge,
      noticed: error => this.#parts.onError(error, incoming.requestId),
    })
    const answers = andThen(checkUnreadBody(operation, view, body), () => operation.run(calling, input))
    return charge === NO_HEADERS ? answers : andThen(answers, made => withHeaders(made, charge))
  }

  #enter(
    incoming: IncomingRequest,
    routed: RoutedRequest,
    identities: IdentityLookup,
  ): MaybePromise<AuthenticatedRequest> {
    const { clock, region, anyRegion, sigV2, clientTimes, facts } = this.#parts
    const findCredential = (accessKey: string) => identities.findCredential(accessKey)
    return authenticateRequest(incoming, routed, {
      scheme: routed.known.dialect.scheme,
      hostBucket: routed.address.style === 'path' ? '' : `/${routed.address.bucket}`,
      now: clock.now(),
      clientTimes: clientTimes?.() ?? NO_TIMES,
      region,
      anyRegion,
      sigV2,
      findCredential,
      facts,
    })
  }

  /** D28. A client that is refused is told the region that it signs for, where every region is accepted. */
  #claimedRegion({ request }: IncomingRequest, { dialect }: RequestState): string {
    const { region, anyRegion } = this.#parts
    const claimed = anyRegion ? claimedCredential(request, dialect.scheme)?.region : undefined
    return claimed !== undefined && isRegionName(claimed) ? claimed : region
  }

  /** R8. Whoever does not own a requester-pays bucket says that the charge is accepted. */
  #charge(view: DecodedRequest, bucket: Bucket | undefined, caller: Caller): boolean {
    if (bucket === undefined || !bucket.requesterPays) return false
    if (caller.kind === 'anonymous') throw new Fault('AccessDenied')
    if (caller.account.canonicalId === bucket.owner) return false
    const payer =
      view.header(':request-payer') ?? view.query('x-amz-request-payer') ?? view.query('x-svc-request-payer')
    if (payer !== 'requester') throw new Fault('AccessDenied')
    return true
  }

  #asFault(error: unknown, requestId: string): Fault {
    const fault = faultOf(error)
    if (fault === undefined) this.#parts.onError(error, requestId)
    return fault ?? new Fault('InternalError')
  }
}
