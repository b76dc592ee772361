/** Authenticates a request by its signature, or by a form with a signed policy. */
import { authenticate } from '../auth/authenticate.ts'
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import { checkedBody, type PayloadRule } from '../auth/parsed-signature.ts'
import { EMPTY_SHA256 } from '../auth/signing.ts'
import type { Slot } from '../http/admission.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import { Fault } from '../model/faults.ts'
import type { IncomingBody } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import type { AccessFacts } from './authorize.ts'
import type { Dialect } from './dialect.ts'
import type { Exchange } from './exchange.ts'
import { authenticateForm, openForm } from './form.ts'
import type { RequestState } from './request-state.ts'
import { DecodedRequest } from './wire-form.ts'

/** Sets the state's caller, region, target and body. */
export function authenticateRequest(
  exchange: Exchange,
  state: RequestState,
  operation: Operation,
  by: Authentication & { readonly facts: AccessFacts },
): MaybePromise<void> {
  const authenticated = authenticate(exchange.request, by)
  return authenticated instanceof Promise
    ? authenticated.then(found => applyAuthentication(exchange, state, operation, found, by))
    : applyAuthentication(exchange, state, operation, authenticated, by)
}

function applyAuthentication(
  exchange: Exchange,
  state: RequestState,
  { takesForm }: Operation,
  authenticated: Authenticated,
  by: Authentication & { readonly facts: AccessFacts },
): MaybePromise<void> {
  exchange.slot.classify(authenticated.caller.kind === 'anonymous')
  if (takesForm) return authenticatePosted(exchange, state, authenticated, by)
  const { bucket, key } = state.address
  state.body = incomingBody(exchange, authenticated.payload, state.request, state.dialect)
  setCaller(state, authenticated, bucket, key)
}

function setCaller(
  state: RequestState,
  { caller, region, signatureVersion }: Omit<Authenticated, 'payload'>,
  bucket: string,
  key: string,
): void {
  state.caller = caller
  state.signatureVersion = signatureVersion
  state.region = region
  if (state.bucketRegion !== undefined) state.bucketRegion = region
  state.target = { bucket, key, versionId: state.request.query('versionId') }
}

async function authenticatePosted(
  exchange: Exchange,
  state: RequestState,
  { caller, payload }: Authenticated,
  by: Authentication & { readonly facts: AccessFacts },
): Promise<void> {
  if (caller.kind !== 'anonymous' || payload.kind === 'chunks') {
    throw new Fault('InvalidRequest', { reason: 'A form must be signed by its policy only.' })
  }
  const { bucket } = state.address
  // The form's fields identify the caller, so nothing else can be refused before they have been read.
  await by.facts.bucket(bucket)
  exchange.sendContinue()
  const setDialect = (dialect: Dialect): void => {
    state.dialect = dialect
  }
  // A hash beside the form signs nothing, but the bytes must still match it.
  const body =
    payload.kind === 'sha256' ? incomingBody(exchange, payload, state.request, state.dialect).stream : exchange.body
  const form = await openForm(exchange.request, body, setDialect, state.dialect)
  state.resource = `/${bucket}/${form.key}`
  const authenticated = await authenticateForm(form, bucket, { ...by, scheme: form.dialect.scheme })
  exchange.slot.classify(authenticated.caller.kind === 'anonymous')
  state.request = new DecodedRequest(form.request, form.dialect)
  state.body = authenticated.body
  setCaller(state, authenticated, bucket, form.key)
}

/** The neutral name of a trailer or header of the dialect. */
const neutral = (dialect: Dialect, name: string): string =>
  name.startsWith(dialect.prefix) ? `:${name.slice(dialect.prefix.length)}` : name

/** The declared length: that of the decoded chunks, else that of the body itself. */
function declaredLength(payload: PayloadRule, request: DecodedRequest): number | undefined {
  if (payload.kind === 'chunks') return payload.decodedLength
  return request.byteCount('content-length')
}

function mayDiffer(payload: PayloadRule, length: number | undefined, request: DecodedRequest): boolean {
  if (payload.kind !== 'sha256') return payload.kind === 'chunks'
  return payload.hex !== EMPTY_SHA256 || (length ?? 0) > 0 || request.header('transfer-encoding') !== undefined
}

function incomingBody(
  incoming: { readonly body: AsyncIterable<Buffer>; readonly slot: Slot },
  payload: PayloadRule,
  request: DecodedRequest,
  dialect: Dialect,
): IncomingBody {
  return new CheckedBody(incoming, payload, request, dialect)
}

/** A class with lazy members, since most requests have no body. */
class CheckedBody implements IncomingBody {
  readonly length: number | undefined
  readonly mayDiffer: boolean
  readonly #body: AsyncIterable<Buffer>
  readonly #slot: Slot
  readonly #payload: PayloadRule
  readonly #dialect: Dialect
  readonly #declared: string | undefined
  #stream: AsyncIterable<Buffer> | undefined

  constructor(
    { body, slot }: { readonly body: AsyncIterable<Buffer>; readonly slot: Slot },
    payload: PayloadRule,
    request: DecodedRequest,
    dialect: Dialect,
  ) {
    this.#body = body
    this.#slot = slot
    this.#payload = payload
    this.#dialect = dialect
    this.#declared = request.header(':trailer')
    this.length = declaredLength(payload, request)
    this.mayDiffer = mayDiffer(payload, this.length, request)
  }

  get stream(): AsyncIterable<Buffer> {
    this.#stream ??= checkedBody(this.#body, this.#payload)
    return this.#stream
  }

  reserveMemory(bytes: number): void {
    this.#slot.reserveMemory(bytes)
  }

  get hashSigned(): boolean {
    return this.#payload.kind === 'sha256'
  }

  get declaredTrailers(): readonly string[] {
    const names = this.#declared?.split(',') ?? []
    return names.map(name => neutral(this.#dialect, name.trim().toLowerCase()))
  }

  trailers(): ReadonlyMap<string, string> {
    const payload = this.#payload
    if (payload.kind !== 'chunks') return new Map()
    return new Map([...payload.trailers].map(([name, value]) => [neutral(this.#dialect, name), value]))
  }
}
