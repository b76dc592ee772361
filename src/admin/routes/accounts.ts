/** Accounts and their users. */
import type { AccountRecord, UserRecord } from '../../model/account.ts'
import { Fault } from '../../model/faults.ts'
import { CANNED_NAMES, cannedPolicy } from '../../rules/access/canned-policies.ts'
import { isBucketName } from '../../rules/naming.ts'
import { freshAccountId } from '../../store/identity/accounts.ts'
import { body, booleanField, optionalField, path, policyDocument, textField } from '../input.ts'
import { route } from '../route.ts'

export const when = (ms: number): string | undefined => (ms === 0 ? undefined : new Date(ms).toISOString())

const shown = ({ createdAt, ...account }: AccountRecord) => ({ ...account, createdAt: when(createdAt) })

const shownUser = ({ createdAt, policies, ...user }: UserRecord) => ({
  ...user,
  policies: policies.map(({ name, document, fromFile }) => ({ name, fromFile, document: JSON.parse(document) })),
  createdAt: when(createdAt),
})

const accountId = path('12 digits')
const user = path('Name of the user')

export const ListAccounts = route({
  name: 'ListAccounts',
  method: 'GET',
  path: '/v1/accounts',
  summary: 'All accounts',
  permission: 'admin',
  input: {},
  run: async ctx => ({ accounts: (await ctx.accounts.list()).map(shown) }),
})

export const CreateAccount = route({
  name: 'CreateAccount',
  method: 'POST',
  path: '/v1/accounts',
  summary: 'Make an account',
  permission: 'admin',
  status: 201,
  input: {
    accountId: optionalField(textField, '12 digits; made when absent'),
    canonicalId: optionalField(textField, '64 hexadecimal digits; derived from the account id when absent'),
    displayName: optionalField(textField, 'What listings call it'),
    email: optionalField(textField, 'By which it can be granted something'),
    admin: optionalField(booleanField, 'Its own keys may administer the server'),
    again: optionalField(
      booleanField,
      'It is the one of this id that was deleted, with everything that still names it',
    ),
  },
  async run(ctx, { accountId: given, ...wish }) {
    const id = given ?? freshAccountId(ctx.store.context.random)
    return shown(await ctx.accounts.create({ accountId: id, ...wish }))
  },
})

export const GetAccount = route({
  name: 'GetAccount',
  method: 'GET',
  path: '/v1/accounts/{accountId}',
  summary: 'One account',
  permission: 'admin',
  input: { accountId },
  run: async (ctx, input) => shown(await ctx.accounts.get(input.accountId)),
})

export const ChangeAccount = route({
  name: 'ChangeAccount',
  method: 'PATCH',
  path: '/v1/accounts/{accountId}',
  summary: 'Change what an account is called, whether it administers, whether its keys open anything',
  permission: 'admin',
  input: {
    accountId,
    displayName: optionalField(textField, 'What listings call it'),
    email: optionalField(textField, 'By which it can be granted something'),
    admin: optionalField(booleanField, 'Its own keys may administer the server'),
    disabled: optionalField(booleanField, 'None of its keys opens anything'),
  },
  async run(ctx, { accountId: id, ...wanted }) {
    const change = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined))
    return shown(await ctx.accounts.change(id, change))
  },
})

export const DeleteAccount = route({
  name: 'DeleteAccount',
  method: 'DELETE',
  path: '/v1/accounts/{accountId}',
  summary: 'Delete an account that has no users and no buckets, with its keys',
  permission: 'admin',
  status: 204,
  input: { accountId },
  run: (ctx, input) => ctx.accounts.remove(input.accountId),
})

export const ListUsers = route({
  name: 'ListUsers',
  method: 'GET',
  path: '/v1/accounts/{accountId}/users',
  summary: 'The users of an account',
  permission: 'admin',
  input: { accountId },
  run: async (ctx, input) => ({ users: (await ctx.accounts.users(input.accountId)).map(shownUser) }),
})

export const CreateUser = route({
  name: 'CreateUser',
  method: 'POST',
  path: '/v1/accounts/{accountId}/users',
  summary: 'Make a user, who may do nothing until a policy allows it',
  permission: 'admin',
  status: 201,
  input: {
    accountId,
    name: body(textField, 'Letters, digits and +=,.@_-'),
    again: optionalField(
      booleanField,
      'It is the one of this name that was deleted, with everything that still names it',
    ),
  },
  run: async (ctx, { accountId, name, again }) => shownUser(await ctx.accounts.createUser(accountId, name, again)),
})

export const GetUser = route({
  name: 'GetUser',
  method: 'GET',
  path: '/v1/accounts/{accountId}/users/{user}',
  summary: 'One user, with its policies',
  permission: 'admin',
  input: { accountId, user },
  run: async (ctx, input) => shownUser(await ctx.accounts.user(input.accountId, input.user)),
})

export const ChangeUser = route({
  name: 'ChangeUser',
  method: 'PATCH',
  path: '/v1/accounts/{accountId}/users/{user}',
  summary: 'Say whether the keys of a user open anything',
  permission: 'admin',
  input: { accountId, user, disabled: body(booleanField, 'None of its keys opens anything') },
  run: async (ctx, input) =>
    shownUser(await ctx.accounts.changeUser(input.accountId, input.user, () => ({ disabled: input.disabled }))),
})

export const DeleteUser = route({
  name: 'DeleteUser',
  method: 'DELETE',
  path: '/v1/accounts/{accountId}/users/{user}',
  summary: 'Delete a user with its keys',
  permission: 'admin',
  status: 204,
  input: { accountId, user },
  run: (ctx, input) => ctx.accounts.removeUser(input.accountId, input.user),
})

const wrongPolicy = (reason: string): Fault => new Fault('InvalidArgument', { ArgumentName: 'document', reason })

function cannedDocument(name: string, buckets: string | undefined): string {
  const names = buckets?.split(',') ?? []
  const wrong = names.find(bucket => !isBucketName(bucket))
  if (wrong !== undefined) throw wrongPolicy(`${wrong} is no name for a bucket`)
  const canned = cannedPolicy(name, names)
  if (canned !== undefined) return JSON.stringify(canned)
  throw wrongPolicy(`there is no canned policy ${name}, only ${CANNED_NAMES.join(', ')}: give its document`)
}

export const AttachPolicy = route({
  name: 'AttachPolicy',
  method: 'PUT',
  path: '/v1/accounts/{accountId}/users/{user}/policies/{policy}',
  summary: 'Give a user a policy, or replace the one of this name',
  permission: 'admin',
  input: {
    accountId,
    user,
    policy: path('Name of the policy'),
    document: optionalField(
      policyDocument,
      `The policy; without it, the canned one of this name: ${CANNED_NAMES.join(', ')}`,
    ),
    buckets: optionalField(textField, 'Names of buckets with commas between: a canned policy is about these alone'),
  },
  async run(ctx, { accountId: id, user: name, policy, document: given, buckets }) {
    const document = given ?? cannedDocument(policy, buckets)
    if (given !== undefined && buckets !== undefined)
      throw wrongPolicy('only a canned policy can be limited to buckets')
    return shownUser(
      await ctx.accounts.changeUser(id, name, ({ policies }) => ({
        policies: [...policies.filter(other => other.name !== policy), { name: policy, document, fromFile: false }],
      })),
    )
  },
})

export const DetachPolicy = route({
  name: 'DetachPolicy',
  method: 'DELETE',
  path: '/v1/accounts/{accountId}/users/{user}/policies/{policy}',
  summary: 'Take a policy from a user',
  permission: 'admin',
  input: { accountId, user, policy: path('Name of the policy') },
  run: async (ctx, { accountId: id, user: name, policy }) =>
    shownUser(
      await ctx.accounts.changeUser(id, name, ({ policies }) => {
        const left = policies.filter(other => other.name !== policy)
        if (left.length === policies.length) throw new Fault('NoSuchEntity', { reason: `there is no policy ${policy}` })
        return { policies: left }
      }),
    ),
})
