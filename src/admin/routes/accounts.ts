/** Routes of accounts and users. */
import type { AccountRecord, UserRecord } from '../../model/account.ts'
import { Fault } from '../../model/faults.ts'
import { CANNED_NAMES, cannedPolicy } from '../../rules/access/canned-policies.ts'
import { isBucketName } from '../../rules/naming.ts'
import { freshAccountId } from '../../store/identity/accounts.ts'
import { body, booleanField, optionalField, path, policyDocument, positiveInteger, query, textField } from '../input.ts'
import { route } from '../route.ts'
import { ACCOUNT, listOf, objectOf, TEXT, USER } from '../schemas.ts'

export const isoTime = (ms: number): string | undefined => (ms === 0 ? undefined : new Date(ms).toISOString())

const shown = ({ createdAt, ...account }: AccountRecord) => ({ ...account, createdAt: isoTime(createdAt) })

const shownUser = ({ createdAt, policies, ...user }: UserRecord) => ({
  ...user,
  policies: policies.map(({ name, document, fromFile }) => ({ name, fromFile, document: JSON.parse(document) })),
  createdAt: isoTime(createdAt),
})

const accountId = path('12 digits')
const user = path('Name of the user')

export const ListAccounts = route({
  name: 'ListAccounts',
  method: 'GET',
  path: '/v1/accounts',
  summary: 'List all accounts',
  permission: 'admin',
  answer: objectOf({ accounts: listOf(ACCOUNT) }),
  input: {},
  run: async ctx => ({ accounts: (await ctx.accounts.list()).map(shown) }),
})

export const CreateAccount = route({
  name: 'CreateAccount',
  method: 'POST',
  path: '/v1/accounts',
  summary: 'Create an account',
  permission: 'admin',
  answer: ACCOUNT,
  status: 201,
  input: {
    accountId: optionalField(textField, '12 digits; generated when absent'),
    canonicalId: optionalField(textField, '64 hexadecimal digits; derived from the account id when absent'),
    displayName: optionalField(textField, 'The name that listings show'),
    email: optionalField(textField, 'E-mail address, by which ACLs can name the account'),
    admin: optionalField(booleanField, "The account's own keys may administer the server"),
    again: optionalField(
      booleanField,
      'Recreates the deleted account of this id, with everything that still refers to it',
    ),
  },
  async run(ctx, { accountId: given, ...options }) {
    const id = given ?? freshAccountId(ctx.store.context.random)
    return shown(await ctx.accounts.create({ accountId: id, ...options }))
  },
})

export const GetAccount = route({
  name: 'GetAccount',
  method: 'GET',
  path: '/v1/accounts/{accountId}',
  summary: 'Get an account',
  permission: 'admin',
  answer: ACCOUNT,
  input: { accountId },
  run: async (ctx, input) => shown(await ctx.accounts.get(input.accountId)),
})

export const ChangeAccount = route({
  name: 'ChangeAccount',
  method: 'PATCH',
  path: '/v1/accounts/{accountId}',
  summary: 'Change the name, e-mail address, administrator flag or state of an account',
  permission: 'admin',
  answer: ACCOUNT,
  input: {
    accountId,
    displayName: optionalField(textField, 'The name that listings show'),
    email: optionalField(textField, 'E-mail address, by which ACLs can name the account'),
    admin: optionalField(booleanField, "The account's own keys may administer the server"),
    disabled: optionalField(booleanField, 'Refuses all of its keys'),
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
  summary: 'List the users of an account',
  permission: 'admin',
  answer: objectOf({ users: listOf(USER) }),
  input: { accountId },
  run: async (ctx, input) => ({ users: (await ctx.accounts.users(input.accountId)).map(shownUser) }),
})

const FOUND_MAX = 100

export const FindUsers = route({
  name: 'FindUsers',
  method: 'GET',
  path: '/v1/users',
  summary: 'Find users of all accounts by a part of their name, or of the name or id of their account',
  permission: 'admin',
  answer: objectOf({ users: listOf(objectOf({ accountId: TEXT, name: TEXT })) }),
  input: {
    contains: query(textField, 'The part, in upper or lower case; all users when absent'),
    limit: query(positiveInteger, `${FOUND_MAX} at most`),
  },
  async run(ctx, { contains = '', limit = FOUND_MAX }) {
    const part = contains.toLowerCase()
    const users: { readonly accountId: string; readonly name: string }[] = []
    for (const { accountId: id, displayName } of await ctx.accounts.list()) {
      const isWhole = `${displayName.toLowerCase()} ${id}`.includes(part)
      for (const { name } of await ctx.accounts.users(id)) {
        if (!isWhole && !name.toLowerCase().includes(part)) continue
        users.push({ accountId: id, name })
        if (users.length === Math.min(limit, FOUND_MAX)) return { users }
      }
    }
    return { users }
  },
})

export const CreateUser = route({
  name: 'CreateUser',
  method: 'POST',
  path: '/v1/accounts/{accountId}/users',
  summary: 'Create a user, who has no permissions until a policy is attached',
  permission: 'admin',
  answer: USER,
  status: 201,
  input: {
    accountId,
    name: body(textField, 'Letters, digits and +=,.@_-'),
    again: optionalField(
      booleanField,
      'Recreates the deleted user of this name, with everything that still refers to it',
    ),
  },
  run: async (ctx, { accountId, name, again }) => shownUser(await ctx.accounts.createUser(accountId, name, again)),
})

export const GetUser = route({
  name: 'GetUser',
  method: 'GET',
  path: '/v1/accounts/{accountId}/users/{user}',
  summary: 'Get a user with its policies',
  permission: 'admin',
  answer: USER,
  input: { accountId, user },
  run: async (ctx, input) => shownUser(await ctx.accounts.user(input.accountId, input.user)),
})

export const ChangeUser = route({
  name: 'ChangeUser',
  method: 'PATCH',
  path: '/v1/accounts/{accountId}/users/{user}',
  summary: 'Enable or disable a user',
  permission: 'admin',
  answer: USER,
  input: { accountId, user, disabled: body(booleanField, 'Refuses all of its keys') },
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
  if (wrong !== undefined) throw wrongPolicy(`${wrong} is not a valid bucket name`)
  const canned = cannedPolicy(name, names)
  if (canned !== undefined) return JSON.stringify(canned)
  throw wrongPolicy(`there is no canned policy ${name}; use one of ${CANNED_NAMES.join(', ')}, or send a document`)
}

export const AttachPolicy = route({
  name: 'AttachPolicy',
  method: 'PUT',
  path: '/v1/accounts/{accountId}/users/{user}/policies/{policy}',
  summary: 'Attach a policy to a user, or replace the one of this name',
  permission: 'admin',
  answer: USER,
  input: {
    accountId,
    user,
    policy: path('Name of the policy'),
    document: optionalField(
      policyDocument,
      `The policy; without it, the canned one of this name: ${CANNED_NAMES.join(', ')}`,
    ),
    buckets: optionalField(textField, 'Comma-separated names of buckets to which a canned policy is limited'),
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
  summary: 'Detach a policy from a user',
  permission: 'admin',
  answer: USER,
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
