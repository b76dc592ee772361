/**
 * The fast path: GET and HEAD of an object in its simplest form, answered without a promise. It takes the steps of the
 * pipeline with the same functions, for requests with no header, parameter or rule that could change them. For every
 * other request, and for every refusal, it returns undefined and the pipeline handles the request as if it had just
 * arrived.
 */
import {
  authenticate,
  presignedClaim,
  type SignatureClaim,
  verifyClaim,
  verifyHeaderClaim,
} from '../auth/authenticate.ts'
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import type { HeaderClaim } from '../auth/header-claim.ts'
import type { CredentialLookup } from '../auth/parsed-signature.ts'
import { EMPTY_SHA256 } from '../auth/signing.ts'
import { type RawRequest, splitTarget } from '../http/raw-request.ts'
import { rememberLines } from '../http/response-head.ts'
import type { Clock } from '../lib/clock.ts'
import { knownNow, type MaybePromise } from '../lib/maybe-promise.ts'
import { memoizeLast } from '../lib/memoize-last.ts'
import type { Bucket } from '../model/bucket.ts'
import type { Version } from '../model/version.ts'
import type { AccountLookup, ObjectName } from '../operations/context.ts'
import { GetObject } from '../operations/object/GetObject.ts'
import { HeadObject } from '../operations/object/HeadObject.ts'
import { isPlain, type OpenedObject, plainBody, plainHeaders } from '../operations/object/plain-read.ts'
import { type AccessRequest, evaluate } from '../rules/access/evaluate.ts'
import { bucketFacts, conditionsOf } from './authorize.ts'
import { DIALECTS, type Dialect, nameSent } from './dialect.ts'
import type { Exchange, WireResponse } from './exchange.ts'
import { CHECKSUM_MODE, CHECKSUM_MODE_ON, IGNORED_HEADERS } from './plain-headers.ts'
import type { PolicyCache } from './policy-cache.ts'
import { RequestState } from './request-state.ts'
import { SignedHead } from './signed-head.ts'
import { type Address, bucketOfHost, DecodedRequest, encodeResponse } from './wire-form.ts'

/** Identities and objects, where they can be read at once. */
export interface ImmediateReads {
  identities(): (AccountLookup & CredentialLookup) | undefined
  /** The current version, open; undefined if it is missing, encrypted or cannot be read at once. */
  object(target: ObjectName, resource: string): OpenedObject | undefined
}

interface ImmediateReadParts {
  readonly reads: ImmediateReads
  readonly clock: Clock
  readonly region: string
  readonly anyRegion: boolean
  readonly baseHosts: readonly string[]
  readonly websiteHosts: readonly string[]
  readonly clientTimes?: (() => readonly number[]) | undefined
}

/** Few clients send more, and the pipeline limits their number. */
const HEADERS_MAX = 32

/** A key that needs no decoding, alone or after its bucket. */
const PLAIN_KEY = /^\/([A-Za-z0-9\-._~/]+)$/
const PLAIN_PATH = /^\/([a-z0-9][a-z0-9.-]+)\/([A-Za-z0-9\-._~/]+)$/

const signedQuery = (prefix: string): RegExp =>
  new RegExp(
    `^(?:${prefix}(?:Algorithm|Content-Sha256|Credential|Date|Expires|Signature|SignedHeaders)=` +
      '(?:[A-Za-z0-9\\-._~/;]|%2F|%3B)*(?:&|$))+(?:x-id=[A-Za-z]+)?$',
  )
/** Nothing, or an SDK's note to itself. */
const PLAIN_QUERY = /^(?:x-id=[A-Za-z]+)?$/
/** Presigned parameters and no others. */
const SIGNED_QUERY = { svc: signedQuery('X-Svc-'), s3: signedQuery('X-Amz-') }

/** A request about which only its signature and the caller's permission are left to decide. */
interface PlainRequest {
  readonly dialect: Dialect
  readonly address: Address
  readonly target: ObjectName
  /** `/bucket/key`. */
  readonly resource: string
  readonly wantsChecksum: boolean
  /** Of a presigned URL, or in a header that was recognized in its bytes. */
  readonly claim: SignatureClaim | HeaderClaim | undefined
}

interface PlainFields {
  readonly host: string | undefined
  readonly authorization: string | undefined
  /** The dialect of all extension headers. */
  readonly extended: Dialect | undefined
  readonly wantsChecksum: boolean
}

/** Undefined where a header might need another step. Requests may share the headers of the one before. */
const plainFields = memoizeLast((headers: RawRequest['headers']): PlainFields | undefined => {
  if (headers.length > HEADERS_MAX) return undefined
  let host: string | undefined
  let authorization: string | undefined
  let extended: Dialect | undefined
  let wantsChecksum = false
  for (const [sent, value] of headers) {
    const { neutral, spoken } = nameSent(sent)
    if (neutral === 'host' && host === undefined) host = value
    else if (neutral === 'authorization' && authorization === undefined) authorization = value
    else if (neutral === CHECKSUM_MODE && value === CHECKSUM_MODE_ON && !wantsChecksum) wantsChecksum = true
    else if (!IGNORED_HEADERS.has(neutral)) return undefined
    if (spoken !== undefined && extended !== undefined && spoken !== extended) return undefined
    extended ??= spoken
  }
  return { host, authorization, extended, wantsChecksum }
})

/** Requests with equal heads share them. */
const namesOf = ({ bucket, key }: Address): Pick<PlainRequest, 'target' | 'resource'> => ({
  target: { bucket, key, versionId: undefined },
  resource: `/${bucket}/${key}`,
})

const NO_TIMES: readonly number[] = []

const dialectNamed = (text: string, prefixes: Readonly<Record<Dialect['name'], string>>): Dialect | undefined =>
  text.startsWith(prefixes.s3) ? DIALECTS.s3 : text.startsWith(prefixes.svc) ? DIALECTS.svc : undefined

const ALGORITHMS = { svc: `${DIALECTS.svc.scheme.algorithm} `, s3: `${DIALECTS.s3.scheme.algorithm} ` }
const QUERY_PREFIXES = { svc: DIALECTS.svc.scheme.queryPrefix, s3: DIALECTS.s3.scheme.queryPrefix }

/** The headers of a response to a version, and all that they depend on beside it. */
interface KnownHeaders {
  readonly dialect: Dialect
  readonly wantsChecksum: boolean
  readonly isVersioned: boolean
  readonly region: string | undefined
  readonly headers: WireResponse['headers']
}

type Conditions = AccessRequest['context']

/** Read only for a policy that needs them. */
class LazyConditions {
  readonly #read: () => Conditions

  constructor(read: () => Conditions) {
    this.#read = read
  }

  [Symbol.iterator](): ReturnType<Conditions[typeof Symbol.iterator]> {
    return this.#read()[Symbol.iterator]()
  }
}

export class ImmediateRead {
  readonly #parts: ImmediateReadParts
  readonly #policies: PolicyCache
  readonly #shared = new WeakMap<RawRequest, PlainRequest>()
  readonly #encoded = new WeakMap<Version, KnownHeaders>()
  readonly #bucketOfHost: (sent: string) => string | undefined

  constructor(parts: ImmediateReadParts, policies: PolicyCache) {
    this.#parts = parts
    this.#policies = policies
    this.#bucketOfHost = memoizeLast(sent => bucketOfHost(sent, parts.baseHosts, parts.websiteHosts))
  }

  /** For a GET or HEAD; a promise where the object's bytes have to be read. Bodies above the limit are streams. */
  answer(exchange: Exchange, wholeBytesMax?: number): MaybePromise<RequestState | undefined> {
    const { request, slot } = exchange
    let opened: OpenedObject | undefined
    try {
      const plain = slot.isOverLimit ? undefined : this.#plainRequest(request)
      if (plain === undefined) return undefined
      const accounts = this.#parts.reads.identities()
      if (accounts === undefined) return undefined
      const authenticated = this.#authenticate(request, plain, accounts)
      if (authenticated === undefined) return undefined
      opened = this.#parts.reads.object(plain.target, plain.resource)
      if (opened === undefined || !isPlain(opened)) return undefined
      const isHead = request.method === 'HEAD'
      const state = stateOf(exchange, plain, authenticated, opened.bucket)
      if (!this.#isAllowed(exchange, state, opened.handle.version, accounts)) return undefined
      const headers = this.#headers(opened, plain, state)
      if (isHead) return answered(state, headers, undefined)
      const body = plainBody(opened, wholeBytesMax)
      opened = undefined
      if (!(body instanceof Promise)) return answered(state, headers, body)
      return body.then(read => answered(state, headers, read)).catch(() => undefined)
    } catch {
      // The pipeline meets the same error, and reports it.
      return undefined
    } finally {
      opened?.handle.close()
    }
  }

  /** Of a version that is kept in memory they are encoded once, for requests that ask alike. */
  #headers(
    opened: OpenedObject,
    { dialect, wantsChecksum }: PlainRequest,
    state: RequestState,
  ): WireResponse['headers'] {
    const { bucket, handle, isKept } = opened
    const isVersioned = bucket.versioning !== 'off'
    const known = isKept ? this.#encoded.get(handle.version) : undefined
    if (
      known?.dialect === dialect &&
      known.wantsChecksum === wantsChecksum &&
      known.isVersioned === isVersioned &&
      known.region === state.bucketRegion
    )
      return known.headers
    const { headers } = encodeResponse({ headers: plainHeaders(opened, wantsChecksum) }, state)
    if (isKept) {
      rememberLines(headers)
      this.#encoded.set(handle.version, { dialect, wantsChecksum, isVersioned, region: state.bucketRegion, headers })
    }
    return headers
  }

  #plainRequest(request: RawRequest): PlainRequest | undefined {
    if (request.isShared !== true) return this.#plain(request)
    const known = this.#shared.get(request)
    if (known !== undefined) return known
    const plain = this.#plain(request)
    if (plain !== undefined) this.#shared.set(request, plain)
    return plain
  }

  /** Undefined where anything about the request might need another step. */
  #plain(request: RawRequest): PlainRequest | undefined {
    if (request instanceof SignedHead) return this.#plainSigned(request)
    const { target, headers } = request
    const fields = plainFields(headers)
    if (fields === undefined) return undefined
    const { host, authorization, extended, wantsChecksum } = fields
    const { path, query } = splitTarget(target)
    const address = host === undefined ? undefined : this.#address(host, path)
    const dialect =
      authorization === undefined ? dialectNamed(query, QUERY_PREFIXES) : dialectNamed(authorization, ALGORITHMS)
    if (address === undefined || dialect === undefined) return undefined
    if (extended !== undefined && extended !== dialect) return undefined
    const plainQuery = authorization === undefined ? SIGNED_QUERY[dialect.name] : PLAIN_QUERY
    if (!plainQuery.test(query)) return undefined
    const claim = authorization === undefined ? presignedClaim(request, dialect.scheme) : undefined
    return { dialect, address, ...namesOf(address), wantsChecksum, claim }
  }

  #plainSigned({ target, host, dialect, wantsChecksum, claim }: SignedHead): PlainRequest | undefined {
    const { path, query } = splitTarget(target)
    const address = this.#address(host, path)
    if (address === undefined || !PLAIN_QUERY.test(query)) return undefined
    return { dialect, address, ...namesOf(address), wantsChecksum, claim }
  }

  #address(host: string, path: string): Address | undefined {
    const label = this.#bucketOfHost(host)
    if (label === undefined) return undefined
    const found = (label === '' ? PLAIN_PATH : PLAIN_KEY).exec(path)
    if (found === null) return undefined
    return label === ''
      ? { bucket: found[1]!, key: found[2]!, style: 'path' }
      : { bucket: label, key: found[1]!, style: 'host' }
  }

  #authenticate(
    request: RawRequest,
    { dialect, claim }: PlainRequest,
    accounts: CredentialLookup,
  ): Authenticated | undefined {
    const { clock, region, anyRegion, clientTimes } = this.#parts
    const by: Authentication = {
      scheme: dialect.scheme,
      now: clock.now(),
      clientTimes: clientTimes?.() ?? NO_TIMES,
      region,
      anyRegion,
      findCredential: accessKey => accounts.findCredential(accessKey),
    }
    const found = knownNow(
      claim === undefined
        ? authenticate(request, by)
        : 'canonicalHash' in claim
          ? verifyHeaderClaim(claim, by)
          : verifyClaim(claim, by),
    )
    // The pipeline looks the key up again, and then it is known.
    if (found === undefined) return undefined
    const { payload } = found
    const isEmpty = payload.kind === 'unsigned' || (payload.kind === 'sha256' && payload.hex === EMPTY_SHA256)
    return isEmpty && found.caller.kind !== 'anonymous' ? found : undefined
  }

  #isAllowed(exchange: Exchange, state: RequestState, version: Version, accounts: AccountLookup): boolean {
    const { bucket, key } = state.address
    const { owner: ownerCanonicalId, attributes } = version
    const decision = evaluate({
      caller: state.caller!,
      action: 'GetObject',
      resource: { bucket, key },
      bucket: bucketFacts(state.bucket!, undefined, accounts),
      object: { ownerCanonicalId, grants: attributes.grants, tags: attributes.tags },
      context: new LazyConditions(() => {
        state.request = new DecodedRequest(exchange.request, state.dialect)
        const { clock, region } = this.#parts
        return conditionsOf(exchange, state, { now: clock.now(), region, bodyConditions: [] })
      }),
      policies: this.#policies,
    })
    state.auditFindings.push({ action: 'GetObject', on: state.target, decision })
    return decision.allowed
  }
}

function stateOf(
  { request, slot }: Exchange,
  { dialect, address, target, resource }: PlainRequest,
  { caller, region, signatureVersion }: Authenticated,
  bucket: Bucket,
): RequestState {
  slot.classify(false)
  const state = new RequestState()
  const operation = request.method === 'HEAD' ? HeadObject : GetObject
  state.dialect = dialect
  state.address = address
  state.resource = resource
  state.operation = operation
  state.operationName = operation.name
  state.caller = caller
  state.signatureVersion = signatureVersion
  state.region = region
  state.bucketRegion = region
  state.target = target
  state.bucket = bucket
  return state
}

function answered(state: RequestState, headers: WireResponse['headers'], body: WireResponse['body']): RequestState {
  state.response = { status: 200, headers, body, close: false }
  return state
}
