/** Accounts, users and access keys that the operator gave: looked up by key, by canonical id and by e-mail. */
import { createHash } from 'node:crypto'
import type { Account, Credential, User } from '../model/caller.ts'
import { readIdentityPolicy } from '../rules/access/policy.ts'

/** The accounts file is not as it should be; the message says where. */
export class BadAccounts extends Error {
  constructor(message: string) {
    super(`accounts: ${message}`)
    this.name = 'BadAccounts'
  }
}

export const ROOT_ACCOUNT_ID = '000000000000'

/** Derived, so that an account keeps its canonical id wherever it is given without one. */
export const canonicalIdOf = (accountId: string): string =>
  createHash('sha256').update(`holdfast account ${accountId}`).digest('hex')

export class Directory {
  readonly #byKey = new Map<string, Credential>()
  readonly #byCanonicalId = new Map<string, Account>()
  readonly #byEmail = new Map<string, Account[]>()

  add(account: Account): void {
    if (this.#byCanonicalId.has(account.canonicalId))
      throw new BadAccounts(`account ${account.accountId} is given twice`)
    this.#byCanonicalId.set(account.canonicalId, account)
    if (account.email === undefined) return
    const email = account.email.toLowerCase()
    this.#byEmail.set(email, [...(this.#byEmail.get(email) ?? []), account])
  }

  addKey(credential: Credential): void {
    if (this.#byKey.has(credential.accessKey)) throw new BadAccounts(`an access key is given twice`)
    this.#byKey.set(credential.accessKey, credential)
  }

  byAccessKey(accessKey: string): Credential | undefined {
    return this.#byKey.get(accessKey)
  }

  byCanonicalId(id: string): Account | undefined {
    return this.#byCanonicalId.get(id)
  }

  byEmail(email: string): readonly Account[] {
    return this.#byEmail.get(email.toLowerCase()) ?? []
  }

  /** The account that may administer the server. */
  addRoot(accessKey: string, secretKey: string): void {
    const account: Account = {
      accountId: ROOT_ACCOUNT_ID,
      canonicalId: canonicalIdOf(ROOT_ACCOUNT_ID),
      displayName: 'root',
      email: undefined,
    }
    this.add(account)
    this.addKey({ accessKey, secretKey, account, user: undefined })
  }
}

type Json = { readonly [name: string]: unknown }

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

function objects(value: unknown, where: string): Json[] {
  if (value === undefined) return []
  if (!Array.isArray(value) || !value.every(isObject)) throw new BadAccounts(`${where} is not a list of objects`)
  return value
}

function text(of: Json, name: string, where: string): string {
  const value = of[name]
  if (typeof value !== 'string' || value === '') throw new BadAccounts(`${where}.${name} is missing`)
  return value
}

function maybeText(of: Json, name: string, where: string): string | undefined {
  return of[name] === undefined ? undefined : text(of, name, where)
}

/** Adds what the file says. Nothing of it is kept when any of it is wrong: the caller throws the directory away. */
export function addAccountsFile(directory: Directory, source: string): void {
  let parsed: unknown
  try {
    parsed = JSON.parse(source)
  } catch {
    throw new BadAccounts('not JSON')
  }
  if (!isObject(parsed)) throw new BadAccounts('not an object')
  for (const [i, entry] of objects(parsed.accounts, 'accounts').entries())
    addAccount(directory, entry, `accounts[${i}]`)
}

function addAccount(directory: Directory, entry: Json, where: string): void {
  const accountId = text(entry, 'accountId', where)
  if (!/^\d{12}$/.test(accountId)) throw new BadAccounts(`${where}.accountId is not 12 digits`)
  const canonicalId = maybeText(entry, 'canonicalId', where) ?? canonicalIdOf(accountId)
  if (!/^[0-9a-f]{64}$/.test(canonicalId)) throw new BadAccounts(`${where}.canonicalId is not 64 hexadecimal digits`)
  const known = directory.byCanonicalId(canonicalId)
  const account: Account = known ?? {
    accountId,
    canonicalId,
    displayName: maybeText(entry, 'displayName', where) ?? accountId,
    email: maybeText(entry, 'email', where),
  }
  if (known === undefined) directory.add(account)
  else if (accountId !== ROOT_ACCOUNT_ID) throw new BadAccounts(`account ${accountId} is given twice`)
  addKeys(directory, entry, where, account, undefined)
  for (const [i, user] of objects(entry.users, `${where}.users`).entries()) {
    const at = `${where}.users[${i}]`
    const policies = objects(user.policies, `${at}.policies`).map(policy => JSON.stringify(policy))
    for (const policy of policies) readIdentityPolicy(policy)
    addKeys(directory, user, at, account, { name: text(user, 'name', at), policies })
  }
}

function addKeys(directory: Directory, entry: Json, where: string, account: Account, user: User | undefined): void {
  for (const [i, key] of objects(entry.accessKeys, `${where}.accessKeys`).entries()) {
    const at = `${where}.accessKeys[${i}]`
    directory.addKey({ accessKey: text(key, 'accessKey', at), secretKey: text(key, 'secretKey', at), account, user })
  }
}
