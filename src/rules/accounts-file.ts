/** Parses the accounts file: JSON text into declared accounts, or one line that locates the error. */
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

/** The accounts file is invalid; the message says where. */
export class InvalidAccountsFile extends Error {
  constructor(message: string) {
    super(`accounts: ${message}`)
    this.name = 'InvalidAccountsFile'
  }
}

export interface DeclaredKey {
  readonly accessKey: string
  readonly secretKey: string
}

export interface DeclaredUser {
  readonly name: string
  readonly accessKeys: readonly DeclaredKey[]
  readonly policies: readonly string[]
}

export interface DeclaredAccount {
  readonly accountId: string
  readonly canonicalId: string | undefined
  readonly displayName: string | undefined
  readonly email: string | undefined
  /** Undefined when the file does not mention it. */
  readonly admin: boolean | undefined
  readonly accessKeys: readonly DeclaredKey[]
  readonly users: readonly DeclaredUser[]
}

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Unknown members are refused: a misspelt name would otherwise be ignored silently. */
function readObject(value: unknown, names: readonly string[], where: string): Json {
  if (!isObject(value)) throw new InvalidAccountsFile(`${where} is not an object`)
  const unknown = Object.keys(value).find(name => !names.includes(name))
  if (unknown !== undefined)
    throw new InvalidAccountsFile(`${where}.${unknown} is unknown${suggestion(unknown, names)}`)
  return value
}

function readList<T>(value: unknown, where: string, read: (item: unknown, where: string) => T): T[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw new InvalidAccountsFile(`${where} is not a list`)
  return value.map((item, i) => read(item, `${where}[${i}]`))
}

/** Adds the place in the file to the fault that a rule throws. */
function locateFault<T>(where: string, rule: () => T): T {
  try {
    return rule()
  } catch (error) {
    if (error instanceof Fault) throw new InvalidAccountsFile(`${where}: ${error.detail.reason ?? error.message}`)
    throw error
  }
}

function text(of: Json, name: string, where: string, check: (value: string) => void): string {
  const value = of[name]
  if (typeof value !== 'string' || value === '') throw new InvalidAccountsFile(`${where}.${name} is missing`)
  locateFault(where, () => check(value))
  return value
}

function optionalText(of: Json, name: string, where: string, check: (value: string) => void): string | undefined {
  return of[name] === undefined ? undefined : text(of, name, where, check)
}

function readKey(value: unknown, where: string): DeclaredKey {
  const entry = readObject(value, ['accessKey', 'secretKey'], where)
  return {
    accessKey: text(entry, 'accessKey', where, checkAccessKey),
    secretKey: text(entry, 'secretKey', where, checkSecretKey),
  }
}

function readKeys(value: unknown, where: string): DeclaredKey[] {
  const keys = readList(value, where, readKey)
  if (keys.length > ACCOUNT_LIMITS.keysPerOwnerMax) throw new InvalidAccountsFile(`${where} has too many keys`)
  return keys
}

function readPolicy(value: unknown, where: string): string {
  if (!isObject(value)) throw new InvalidAccountsFile(`${where} is not an object`)
  const document = JSON.stringify(value)
  locateFault(where, () => checkPolicies([document]))
  return document
}

function readUser(value: unknown, where: string): DeclaredUser {
  const entry = readObject(value, ['name', 'accessKeys', 'policies'], where)
  const policies = readList(entry.policies, `${where}.policies`, readPolicy)
  locateFault(where, () => checkPolicies(policies))
  return {
    name: text(entry, 'name', where, checkUserName),
    accessKeys: readKeys(entry.accessKeys, `${where}.accessKeys`),
    policies,
  }
}

const ACCOUNT_MEMBERS = ['accountId', 'canonicalId', 'displayName', 'email', 'admin', 'accessKeys', 'users']

function readAccount(value: unknown, where: string): DeclaredAccount {
  const entry = readObject(value, ACCOUNT_MEMBERS, where)
  const { admin } = entry
  if (admin !== undefined && typeof admin !== 'boolean')
    throw new InvalidAccountsFile(`${where}.admin is not true or false`)
  const users = readList(entry.users, `${where}.users`, readUser)
  checkUnique(
    users,
    user => user.name,
    name => `${where}: user ${name} is declared twice`,
  )
  return {
    accountId: text(entry, 'accountId', where, checkAccountId),
    canonicalId: optionalText(entry, 'canonicalId', where, checkCanonicalId),
    displayName: optionalText(entry, 'displayName', where, checkDisplayName),
    email: optionalText(entry, 'email', where, checkEmail),
    admin,
    accessKeys: readKeys(entry.accessKeys, `${where}.accessKeys`),
    users,
  }
}

function checkUnique<T>(items: readonly T[], nameOf: (item: T) => string, problem: (name: string) => string): void {
  const seen = new Set<string>()
  for (const item of items) {
    const name = nameOf(item)
    if (seen.has(name)) throw new InvalidAccountsFile(problem(name))
    seen.add(name)
  }
}

export function readAccountsFile(source: string): readonly DeclaredAccount[] {
  let parsed: unknown
  try {
    parsed = JSON.parse(source)
  } catch {
    // The parser's own message would quote the file, and with it a secret.
    throw new InvalidAccountsFile('not JSON')
  }
  const { accounts } = readObject(parsed, ['accounts'], 'the file')
  if (accounts === undefined) throw new InvalidAccountsFile('the member "accounts" is missing')
  const given = readList(accounts, 'accounts', readAccount)
  checkUnique(
    given,
    account => account.accountId,
    id => `account ${id} is declared twice`,
  )
  checkUnique(given, idOf, id => `canonicalId ${id} is declared twice`)
  const keys = given.flatMap(({ accessKeys, users }) => [...accessKeys, ...users.flatMap(user => user.accessKeys)])
  checkUnique(
    keys,
    key => key.accessKey,
    key => `access key ${key} is declared twice`,
  )
  return given
}

const idOf = ({ canonicalId, accountId }: DeclaredAccount): string => canonicalId ?? canonicalIdOf(accountId)
