/** Routes of encryption keys. Key values are never returned. */

import { Fault } from '../../model/faults.ts'
import type { NamedKey } from '../../store/keys/named-keys.ts'
import { body, booleanField, enumField, optionalField, path, textField } from '../input.ts'
import { type AdminContext, route } from '../route.ts'
import { COUNT, listOf, objectOf, oneOfWords, TEXT, YES_OR_NO } from '../schemas.ts'

const named = path('Name of the key, as requests name it')

const KEY = objectOf({
  name: TEXT,
  version: COUNT,
  disabled: YES_OR_NO,
  'checking?': { ...COUNT, description: 'While the key is being disabled: versions and uploads scanned so far' },
})

const shown = ({ store }: AdminContext, name: string) => store.namedKeys.get(name)

export const GetEncryption = route({
  name: 'GetEncryption',
  method: 'GET',
  path: '/v1/encryption',
  summary: 'Get the id and versions of the keyring, and the named keys that were created or changed',
  permission: 'admin',
  answer: objectOf({ keyring: TEXT, service: COUNT, storage: COUNT, named: COUNT, keys: listOf(KEY) }),
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
  summary: 'Create a named key, which a server with strict key names then accepts',
  permission: 'admin',
  answer: KEY,
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
  summary: 'Enable or disable a named key; refused while it wraps a locked version',
  permission: 'admin',
  answer: KEY,
  // Checking all locked versions may take long; the response reports the progress.
  isPending: answer => (answer as NamedKey).checking !== undefined,
  input: { name: named, disabled: body(booleanField, 'Neither encrypts nor decrypts') },
  async run(ctx, { name, disabled }) {
    await (disabled ? ctx.store.namedKeys.disable(name) : ctx.store.namedKeys.enable(name))
    return shown(ctx, name)
  },
})

const HEXADECIMAL = /^(?:[0-9a-f]{2})+$/

/** Decodes the cursor that a step returned. */
function place(from: string | undefined): Buffer | undefined {
  if (from === undefined) return undefined
  if (HEXADECIMAL.test(from)) return Buffer.from(from, 'hex')
  throw new Fault('InvalidArgument', { ArgumentName: 'from', reason: 'from is not a cursor that a step returned' })
}

export const RewrapEncryption = route({
  name: 'RewrapEncryption',
  method: 'POST',
  path: '/v1/encryption/rewrap',
  summary: 'After a rotation, rewrap stored keys with the newest ones: one step, and the cursor of the next',
  permission: 'admin',
  answer: objectOf({ looked: COUNT, rewrapped: COUNT, left: COUNT, 'next?': TEXT }),
  input: { from: optionalField(textField, 'The cursor of the step before; absent to start a round') },
  async run({ store }, { from }) {
    const { next, ...done } = await store.namedKeys.rewrap(place(from))
    return { ...done, next: next?.toString('hex') }
  },
})

export const RotateEncryption = route({
  name: 'RotateEncryption',
  method: 'POST',
  path: '/v1/encryption/rotate',
  summary: 'Encrypt new objects with a new key; older keys still decrypt what they encrypted',
  permission: 'admin',
  answer: objectOf({ what: oneOfWords('service', 'storage', 'named'), 'name?': TEXT, version: COUNT }),
  input: {
    what: body(enumField('service', 'storage', 'named'), 'The key of AES256, the storage key, or the named keys'),
    name: optionalField(textField, 'Only this named key'),
  },
  async run({ store }, { what, name }) {
    return { what, name, version: await store.namedKeys.rotate({ of: what, name }) }
  },
})
