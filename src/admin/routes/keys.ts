/** Routes of access keys. A secret is returned once, by the request that creates it. */
import { Fault } from '../../model/faults.ts'
import { type AccessKeyInfo, generateAccessKey } from '../../store/identity/accounts.ts'
import { body, booleanField, optionalField, path, query, textField } from '../input.ts'
import { route } from '../route.ts'
import { KEY_FIELDS, listOf, objectOf, TEXT } from '../schemas.ts'
import { isoTime } from './accounts.ts'

const KEY = objectOf(KEY_FIELDS)

const shown = ({ createdAt, ...key }: AccessKeyInfo) => ({ ...key, createdAt: isoTime(createdAt) })

export const ListKeys = route({
  name: 'ListKeys',
  method: 'GET',
  path: '/v1/accounts/{accountId}/keys',
  summary: 'List the keys of an account and its users, or of one user, without secrets',
  permission: 'admin',
  answer: objectOf({ keys: listOf(KEY) }),
  input: { accountId: path('12 digits'), user: query(textField, 'Only the keys of this user') },
  async run(ctx, { accountId, user }) {
    await ctx.accounts.get(accountId)
    if (user !== undefined) await ctx.accounts.user(accountId, user)
    return { keys: (await ctx.accounts.keys(user === undefined ? { accountId } : { accountId, user })).map(shown) }
  },
})

export const CreateKey = route({
  name: 'CreateKey',
  method: 'POST',
  path: '/v1/accounts/{accountId}/keys',
  summary: 'Create a key of an account or a user; only this response has its secret',
  permission: 'admin',
  answer: objectOf({ ...KEY_FIELDS, secretKey: TEXT }),
  status: 201,
  input: {
    accountId: path('12 digits'),
    user: optionalField(textField, "The key's user; absent for a key of the account itself"),
    accessKey: optionalField(textField, 'Generated when absent'),
    secretKey: optionalField(textField, 'Generated when absent'),
  },
  async run(ctx, { accountId, user, ...given }) {
    const fresh = generateAccessKey(ctx.store.context.random)
    const { accessKey = fresh.accessKey, secretKey = fresh.secretKey } = given
    if (ctx.identities.isRootKey(accessKey)) {
      throw new Fault('EntityAlreadyExists', { reason: `the access key ${accessKey} already exists` })
    }
    return { ...shown(await ctx.accounts.createKey({ accountId, user, accessKey, secretKey })), secretKey }
  },
})

export const GetKey = route({
  name: 'GetKey',
  method: 'GET',
  path: '/v1/keys/{accessKey}',
  summary: 'Get the owner and state of a key',
  permission: 'admin',
  answer: KEY,
  input: { accessKey: path('The access key') },
  run: async (ctx, input) => shown(await ctx.accounts.key(input.accessKey)),
})

export const ChangeKey = route({
  name: 'ChangeKey',
  method: 'PATCH',
  path: '/v1/keys/{accessKey}',
  summary: 'Enable or disable a key',
  permission: 'admin',
  answer: KEY,
  input: { accessKey: path('The access key'), disabled: body(booleanField, 'Refuses the key') },
  run: async (ctx, input) => shown(await ctx.accounts.changeKey(input.accessKey, { disabled: input.disabled })),
})

export const DeleteKey = route({
  name: 'DeleteKey',
  method: 'DELETE',
  path: '/v1/keys/{accessKey}',
  summary: 'Delete a key',
  permission: 'admin',
  status: 204,
  input: { accessKey: path('The access key') },
  run: (ctx, input) => ctx.accounts.removeKey(input.accessKey),
})
