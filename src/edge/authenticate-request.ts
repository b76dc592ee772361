/** Authenticates a request by its headers and signature, or by a form and the signed policy it carries. */
import { authenticate } from '../auth/authenticate.ts'
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import { andThen, type MaybePromise } from '../lib/maybe-promise.ts'
import { Fault } from '../model/faults.ts'
import type { IncomingBody } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import type { Address } from './address.ts'
import type { AccessFacts } from './authorize.ts'
import { DecodedRequest } from './decoded-request.ts'
import type { Dialect } from './dialect.ts'
import type { IncomingRequest } from './exchange.ts'
import { authenticateForm, openForm } from './form.ts'
import { incomingBody } from './incoming-body.ts'
import type { RequestState } from './request-state.ts'

/** A request after routing. */
export interface RoutedRequest {
  readonly known: RequestState
  readonly address: Address
  readonly view: DecodedRequest
  readonly operation: Operation
}

/** A request once it is known who asks. */
export interface AuthenticatedRequest extends Omit<Authenticated, 'payload'> {
  readonly view: DecodedRequest
  readonly body: IncomingBody
  readonly key: string
}

export interface AuthenticationRules extends Authentication {
  readonly facts: AccessFacts
}

export function authenticateRequest(
  incoming: IncomingRequest,
  routed: RoutedRequest,
  by: AuthenticationRules,
): MaybePromise<AuthenticatedRequest> {
  const { known, address, view, operation } = routed
  return andThen(authenticate(incoming.request, by), authenticated => {
    const { caller, payload, region, signatureVersion } = authenticated
    incoming.slot.classify(caller.kind === 'anonymous')
    if (operation.takesForm) return enterByForm(incoming, routed, authenticated, by)
    const body = incomingBody(incoming, payload, view, known.dialect)
    return { caller, region, signatureVersion, view, key: address.key, body }
  })
}

async function enterByForm(
  incoming: IncomingRequest,
  { known, address, view }: RoutedRequest,
  { caller, payload }: Authenticated,
  by: AuthenticationRules,
): Promise<AuthenticatedRequest> {
  if (caller.kind !== 'anonymous' || payload.kind === 'chunks') {
    throw new Fault('InvalidRequest', { reason: 'A form is signed by the policy that it carries, and only so.' })
  }
  // The form itself names its sender: nothing else can be refused before its fields have been read.
  await by.facts.bucket(address.bucket)
  incoming.sendContinue()
  const speaks = (dialect: Dialect): void => {
    known.dialect = dialect
  }
  // A hash beside the form is nobody's signature, but it says what the bytes were.
  const body = payload.kind === 'sha256' ? incomingBody(incoming, payload, view, known.dialect).stream : incoming.body
  const form = await openForm(incoming.request, body, speaks, known.dialect)
  known.resource = `/${address.bucket}/${form.key}`
  const entered = await authenticateForm(form, address.bucket, { ...by, scheme: form.dialect.scheme })
  incoming.slot.classify(entered.caller.kind === 'anonymous')
  return { ...entered, view: new DecodedRequest(form.request, form.dialect), key: form.key }
}
