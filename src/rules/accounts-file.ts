/** The accounts file: JSON text into what there shall be, or one line that says what is wrong and where. */
import { suggestion } from '../lib/did-you-mean.ts'
import { canonicalIdOf } from '../model/account.ts'
import { Fault } from '../model/faults.ts'
import {
  ACCOUNT_LIMITS,
  checkAccessKey,
  checkAccountId,
  checkCanonicalId,
  checkDisplayName,
  checkEmail,
  checkPolicies,
  checkSecretKey,
  checkUserName,
} from './accounts.ts'

/** The accounts file is not as it should be; the message says where. */
export class BadAccounts extends Error {
  constructor(message: string) {
    super(`accounts: ${message}`)
    this.name = 'BadAccounts'
  }
}

export interface GivenKey {
  readonly accessKey: string
  readonly secretKey: string
}

export interface GivenUser {
  readonly name: string
  readonly accessKeys: readonly GivenKey[]
  readonly policies: readonly string[]
}

export interface GivenAccount {
  readonly accountId: string
  readonly canonicalId: string | undefined
  readonly displayName: string | undefined
  readonly email: string | undefined
  /** Undefined: the file does not say. */
  readonly admin: boolean | undefined
  readonly accessKeys: readonly GivenKey[]
  readonly users: readonly GivenUser[]
}

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** A member of a misspelt name would be passed over in silence, and with it what somebody meant. */
function objectWith(value: unknown, names: readonly string[], where: string): Json {
  if (!isObject(value)) throw new BadAccounts(`${where} is not an object`)
  const unknown = Object.keys(value).find(name => !names.includes(name))
  if (unknown !== undefined) throw new BadAccounts(`${where}.${unknown} is unknown${suggestion(unknown, names)}`)
  return value
}

function each<T>(value: unknown, where: string, read: (item: unknown, where: string) => T): T[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new BadAccounts(`${where} is not a list`)
  return value.map((item, i) => read(item, `${where}[${i}]`))
}

/** What a rule refuses is wrong in the file, at this place. */
function at<T>(where: string, rule: () => T): T {
  try {
    return rule()
  } catch (error) {
    if (error instanceof Fault) throw new BadAccounts(`${where}: ${error.detail.reason ?? error.message}`)
    throw error
  }
}

function text(of: Json, name: string, where: string, check: (value: string) => void): string {
  const value = of[name]
  if (typeof value !== 'string' || value === '') throw new BadAccounts(`${where}.${name} is missing`)
  at(where, () => check(value))
  return value
}

function maybeText(of: Json, name: string, where: string, check: (value: string) => void): string | undefined {
  return of[name] === undefined ? undefined : text(of, name, where, check)
}

function readKey(value: unknown, where: string): GivenKey {
  const entry = objectWith(value, ['accessKey', 'secretKey'], where)
  return {
    accessKey: text(entry, 'accessKey', where, checkAccessKey),
    secretKey: text(entry, 'secretKey', where, checkSecretKey),
  }
}

function readKeys(value: unknown, where: string): GivenKey[] {
  const keys = each(value, where, readKey)
  if (keys.length > ACCOUNT_LIMITS.keysPerOwnerMax) throw new BadAccounts(`${where} has too many keys`)
  return keys
}

function readPolicy(value: unknown, where: string): string {
  if (!isObject(value)) throw new BadAccounts(`${where} is not an object`)
  const document = JSON.stringify(value)
  at(where, () => checkPolicies([document]))
  return document
}

function readUser(value: unknown, where: string): GivenUser {
  const entry = objectWith(value, ['name', 'accessKeys', 'policies'], where)
  const policies = each(entry.policies, `${where}.policies`, readPolicy)
  at(where, () => checkPolicies(policies))
  return {
    name: text(entry, 'name', where, checkUserName),
    accessKeys: readKeys(entry.accessKeys, `${where}.accessKeys`),
    policies,
  }
}

const ACCOUNT_MEMBERS = ['accountId', 'canonicalId', 'displayName', 'email', 'admin', 'accessKeys', 'users']

function readAccount(value: unknown, where: string): GivenAccount {
  const entry = objectWith(value, ACCOUNT_MEMBERS, where)
  const { admin } = entry
  if (admin !== undefined && typeof admin !== 'boolean') throw new BadAccounts(`${where}.admin is not true or false`)
  const users = each(entry.users, `${where}.users`, readUser)
  once(
    users,
    user => user.name,
    name => `${where}: user ${name} is given twice`,
  )
  return {
    accountId: text(entry, 'accountId', where, checkAccountId),
    canonicalId: maybeText(entry, 'canonicalId', where, checkCanonicalId),
    displayName: maybeText(entry, 'displayName', where, checkDisplayName),
    email: maybeText(entry, 'email', where, checkEmail),
    admin,
    accessKeys: readKeys(entry.accessKeys, `${where}.accessKeys`),
    users,
  }
}

function once<T>(items: readonly T[], nameOf: (item: T) => string, problem: (name: string) => string): void {
  const seen = new Set<string>()
  for (const item of items) {
    const name = nameOf(item)
    if (seen.has(name)) throw new BadAccounts(problem(name))
    seen.add(name)
  }
}

export function readAccountsFile(source: string): readonly GivenAccount[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(source)
  } catch {
    // The parser's own message would quote the file, and with it a secret.
    throw new BadAccounts('not JSON')
  }
  const { accounts } = objectWith(parsed, ['accounts'], 'the file')
  if (accounts === undefined) throw new BadAccounts('there is no list of accounts')
  const given = each(accounts, 'accounts', readAccount)
  once(
    given,
    account => account.accountId,
    id => `account ${id} is given twice`,
  )
  once(given, idOf, id => `canonicalId ${id} is given twice`)
  const keys = given.flatMap(({ accessKeys, users }) => [...accessKeys, ...users.flatMap(user => user.accessKeys)])
  once(
    keys,
    key => key.accessKey,
    key => `access key ${key} is given twice`,
  )
  return given
}

const idOf = ({ canonicalId, accountId }: GivenAccount): string => canonicalId ?? canonicalIdOf(accountId)
