/** Authenticates a request by its headers and signature, or by a form and the signed policy it carries. */
import { authenticate } from '../auth/authenticate.ts'
import type { Authenticated, Authentication } from '../auth/authentication.ts'
import { after, type Soon } from '../lib/soon.ts'
import { Fault } from '../model/faults.ts'
import type { IncomingBody } from '../operations/context.ts'
import type { Operation } from '../operations/operation.ts'
import type { Address } from './address.ts'
import type { FactFinder } from './authorize.ts'
import type { Dialect } from './dialect.ts'
import { authenticateForm, openForm } from './form.ts'
import { incomingBody } from './incoming-body.ts'
import type { Known } from './known.ts'
import type { Incoming } from './outcome.ts'
import { View } from './request-view.ts'

/** A request after routing. */
export interface Routed {
  readonly known: Known
  readonly address: Address
  readonly view: View
  readonly operation: Operation
}

/** A request once it is known who asks. */
export interface Entered extends Omit<Authenticated, 'payload'> {
  readonly view: View
  readonly body: IncomingBody
  readonly key: string
}

export interface EntryRules extends Authentication {
  readonly facts: FactFinder
}

export function enter(incoming: Incoming, routed: Routed, by: EntryRules): Soon<Entered> {
  const { known, address, view, operation } = routed
  return after(authenticate(incoming.request, by), authenticated => {
    const { caller, payload, region, signatureVersion } = authenticated
    incoming.place.standing(caller.kind === 'anonymous')
    if (operation.takesForm) return enterByForm(incoming, routed, authenticated, by)
    const body = incomingBody(incoming, payload, view, known.dialect)
    return { caller, region, signatureVersion, view, key: address.key, body }
  })
}

async function enterByForm(
  incoming: Incoming,
  { known, address, view }: Routed,
  { caller, payload }: Authenticated,
  by: EntryRules,
): Promise<Entered> {
  if (caller.kind !== 'anonymous' || payload.kind === 'chunks') {
    throw new Fault('InvalidRequest', { reason: 'A form is signed by the policy that it carries, and only so.' })
  }
  // The form itself names its sender: nothing else can be refused before its fields have been read.
  await by.facts.bucket(address.bucket)
  incoming.goOn()
  const speaks = (dialect: Dialect): void => {
    known.dialect = dialect
  }
  // A hash beside the form is nobody's signature, but it says what the bytes were.
  const body = payload.kind === 'sha256' ? incomingBody(incoming, payload, view, known.dialect).stream : incoming.body
  const form = await openForm(incoming.request, body, speaks, known.dialect)
  known.resource = `/${address.bucket}/${form.key}`
  const entered = await authenticateForm(form, address.bucket, { ...by, scheme: form.dialect.scheme })
  incoming.place.standing(entered.caller.kind === 'anonymous')
  return { ...entered, view: new View(form.request, form.dialect), key: form.key }
}
