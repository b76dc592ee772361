/** Access keys. A secret is told once, in the answer that makes it. */
import { Fault } from '../../model/faults.ts'
import { type AccessKeyInfo, generateAccessKey } from '../../store/identity/accounts.ts'
import { body, booleanField, optionalField, path, query, textField } from '../input.ts'
import { route } from '../route.ts'
import { when } from './accounts.ts'

const shown = ({ createdAt, ...key }: AccessKeyInfo) => ({ ...key, createdAt: when(createdAt) })

export const ListKeys = route({
  name: 'ListKeys',
  method: 'GET',
  path: '/v1/accounts/{accountId}/keys',
  summary: 'The keys of an account and its users, or of one user, without their secrets',
  permission: 'admin',
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
  summary: 'Make a key of an account or a user; the answer alone tells its secret',
  permission: 'admin',
  status: 201,
  input: {
    accountId: path('12 digits'),
    user: optionalField(textField, 'Whose key it is; the account itself without'),
    accessKey: optionalField(textField, 'Made when absent'),
    secretKey: optionalField(textField, 'Made when absent'),
  },
  async run(ctx, { accountId, user, ...given }) {
    const fresh = generateAccessKey(ctx.store.context.random)
    const { accessKey = fresh.accessKey, secretKey = fresh.secretKey } = given
    if (ctx.identities.isRootKey(accessKey)) {
      throw new Fault('EntityAlreadyExists', { reason: `there is an access key ${accessKey} already` })
    }
    return { ...shown(await ctx.accounts.createKey({ accountId, user, accessKey, secretKey })), secretKey }
  },
})

export const GetKey = route({
  name: 'GetKey',
  method: 'GET',
  path: '/v1/keys/{accessKey}',
  summary: 'Whose a key is, and whether it is good',
  permission: 'admin',
  input: { accessKey: path('The access key') },
  run: async (ctx, input) => shown(await ctx.accounts.key(input.accessKey)),
})

export const ChangeKey = route({
  name: 'ChangeKey',
  method: 'PATCH',
  path: '/v1/keys/{accessKey}',
  summary: 'Say whether a key opens anything',
  permission: 'admin',
  input: { accessKey: path('The access key'), disabled: body(booleanField, 'It opens nothing') },
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
