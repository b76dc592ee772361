/** Encryption keys: those that objects are sealed with. Their values are told to nobody. */

import { Fault } from '../../model/faults.ts'
import type { NamedKey } from '../../store/keys/named-keys.ts'
import { body, booleanField, enumField, optionalField, path, textField } from '../input.ts'
import { type AdminContext, route } from '../route.ts'

const named = path('Name of the key, as requests name it')

const shown = ({ store }: AdminContext, name: string) => store.namedKeys.get(name)

export const GetEncryption = route({
  name: 'GetEncryption',
  method: 'GET',
  path: '/v1/encryption',
  summary: 'Which keyring it is, how often its keys were rotated, and the named keys that somebody has made or changed',
  permission: 'admin',
  input: {},
  async run({ store }) {
    const { keyring } = store.context
    return { keyring: keyring.id.toString('hex'), ...keyring.versions, keys: store.namedKeys.list() }
  },
})

export const CreateEncryptionKey = route({
  name: 'CreateEncryptionKey',
  method: 'POST',
  path: '/v1/encryption/keys',
  summary: 'Make a named key; a server that is strict about names takes it from then on',
  permission: 'admin',
  status: 201,
  input: { name: body(textField, 'Its name') },
  async run(ctx, { name }) {
    await ctx.store.namedKeys.create(name)
    return shown(ctx, name)
  },
})

export const ChangeEncryptionKey = route({
  name: 'ChangeEncryptionKey',
  method: 'PATCH',
  path: '/v1/encryption/keys/{name}',
  summary: 'Say whether a named key opens and seals anything; refused while it wraps a locked version',
  permission: 'admin',
  // Whether it does may take long to find out; the answer says how much was looked at so far.
  goesOn: answer => (answer as NamedKey).checking !== undefined,
  input: { name: named, disabled: body(booleanField, 'It opens and seals nothing') },
  async run(ctx, { name, disabled }) {
    await (disabled ? ctx.store.namedKeys.disable(name) : ctx.store.namedKeys.enable(name))
    return shown(ctx, name)
  },
})

const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/

/** Where a step of the round ended. */
function place(from: string | undefined): Buffer | undefined {
  if (from === undefined) return undefined
  if (HEXADECIMAL.test(from)) return Buffer.from(from, 'hex')
  throw new Fault('InvalidArgument', { ArgumentName: 'from', reason: 'from is not what a step returned' })
}

export const RewrapEncryption = route({
  name: 'RewrapEncryption',
  method: 'POST',
  path: '/v1/encryption/rewrap',
  summary: 'After a rotation, wrap the keys of what is stored by the newest ones: one step, and where the next begins',
  permission: 'admin',
  input: { from: optionalField(textField, 'Where the step before ended; without, a round begins') },
  async run({ store }, { from }) {
    const { next, ...done } = await store.namedKeys.rewrap(place(from))
    return { ...done, next: next?.toString('hex') }
  },
})

export const RotateEncryption = route({
  name: 'RotateEncryption',
  method: 'POST',
  path: '/v1/encryption/rotate',
  summary: 'Seal what is new with a new key; the old ones go on opening what they sealed',
  permission: 'admin',
  input: {
    what: body(
      enumField('service', 'storage', 'named'),
      'The key of AES256, the outer one of all, or those with names',
    ),
    name: optionalField(textField, 'Only the named key of this name'),
  },
  async run({ store }, { what, name }) {
    return { what, name, version: await store.namedKeys.rotate({ of: what, name }) }
  },
})
