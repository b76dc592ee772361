/**
 * Accounts, users and access keys. Every change counts up one mark in the same commit, so that whoever remembers
 * something knows with one look whether it still holds, in every process; and so that changes come one behind another.
 */
import { openSecret, sealSecret } from '../crypto/secret-box.ts'
import { justAfter } from '../lib/bytes.ts'
import type { Random } from '../lib/random.ts'
import type { Entry, KeyRange } from '../meta/meta.ts'
import {
  type AccountRecord,
  type AccountsMark,
  accountFormat,
  accountsMarkFormat,
  BUILT_IN,
  builtInAccount,
  canonicalIdFormat,
  canonicalIdOf,
  type KeyRecord,
  keyFormat,
  keyOfFormat,
  type UserRecord,
  userFormat,
} from '../model/account.ts'
import { bucketFormat } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import {
  ACCOUNT_LIMITS,
  checkAccessKey,
  checkAccountId,
  checkCanonicalId,
  checkDisplayName,
  checkEmail,
  checkPolicies,
  checkPolicyName,
  checkSecretKey,
  checkUserName,
} from '../rules/accounts.ts'
import { all, at } from './addresses.ts'
import { type Decision, decide } from './decision.ts'
import type { Engine } from './engine.ts'

const PAGE = 1000
export const NO_MARK: AccountsMark = { total: 0, accounts: 0, keys: 0 }

export interface AccountWish {
  readonly accountId: string
  readonly canonicalId?: string | undefined
  readonly displayName?: string | undefined
  readonly email?: string | undefined
  readonly admin?: boolean | undefined
  /** It is the one of this id that was deleted, with everything that still names it. */
  readonly again?: boolean | undefined
}

export type AccountChange = Partial<Pick<AccountRecord, 'displayName' | 'email' | 'admin' | 'disabled'>>

/** Whose a key is: an account's own, or a user's. */
export interface KeyOwner {
  readonly accountId: string
  readonly user: string | undefined
}

export interface KeyWish extends KeyOwner {
  readonly accessKey: string
  readonly secretKey: string
}

/** A key without its secret, which is shown once, when it is made, and never again. */
export type KeyFacts = Omit<KeyRecord, 'sealedSecret'>

/** A new access key and its secret. */
export function freshKey(random: Random): { readonly accessKey: string; readonly secretKey: string } {
  return {
    accessKey: `HF${random.bytes(9).toString('hex').toUpperCase()}`,
    secretKey: random.bytes(30).toString('base64url'),
  }
}

/** 12 digits, the first of them not 0: the ids of built-in accounts stay apart. */
export function freshAccountId(random: Random): string {
  const digits = random.bytes(8).readBigUInt64BE() % 900_000_000_000n
  return String(100_000_000_000n + digits)
}

const noSuch = (what: string, name: string): Fault =>
  new Fault('NoSuchEntity', { reason: `there is no ${what} ${name}` })
const isThere = (what: string, name: string): Fault =>
  new Fault('EntityAlreadyExists', { reason: `there is a ${what} ${name} already` })
/** Whatever was granted to the one that is gone would be the new one's. */
const wasThere = (what: string): Fault =>
  new Fault('EntityAlreadyExists', {
    reason: `${what} was deleted, and what still names it would be its again: say so, or take another`,
  })

export class Accounts {
  readonly #engine: Engine

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** What there is, in order of the ids; built-in accounts included. */
  async list(): Promise<AccountRecord[]> {
    const found = new Map(BUILT_IN.map(account => [account.accountId, account]))
    for await (const entry of this.#all(all.accounts())) {
      const account = accountFormat.decode(entry.value)
      found.set(account.accountId, account)
    }
    return [...found.values()].sort((a, b) => (a.accountId < b.accountId ? -1 : 1))
  }

  async get(accountId: string): Promise<AccountRecord> {
    checkAccountId(accountId)
    const entry = await this.#engine.meta.get(at.account(accountId))
    const account = entry === undefined ? builtInAccount(accountId) : accountFormat.decode(entry.value)
    if (account === undefined) throw noSuch('account', accountId)
    return account
  }

  create(wish: AccountWish): Promise<AccountRecord> {
    checkAccountId(wish.accountId)
    return this.#change('accounts', async (d, mark) => {
      if ((await accountIn(d, wish.accountId)) !== undefined) throw isThere('account', wish.accountId)
      const former = await formerIn(d, wish.accountId)
      if (former !== undefined && wish.again !== true) throw wasThere(`account ${wish.accountId}`)
      const account: AccountRecord = {
        accountId: wish.accountId,
        canonicalId: wish.canonicalId ?? former ?? canonicalIdOf(wish.accountId),
        displayName: wish.displayName ?? wish.accountId,
        email: wish.email,
        admin: wish.admin ?? false,
        disabled: false,
        createdAt: this.#engine.clock.now(),
      }
      checkAccount(account)
      if (mark.total >= ACCOUNT_LIMITS.accountsMax) throw new Fault('LimitExceeded')
      const { accountId, canonicalId } = account
      const holder = await this.#holder(d, canonicalId)
      if (holder !== undefined && holder !== accountId) throw isThere('account of the canonical id', canonicalId)
      d.put(at.canonicalId(canonicalId), canonicalIdFormat.encode(accountId))
      if (former !== undefined) d.remove(at.formerAccount(accountId))
      mark.total++
      d.put(at.account(account.accountId), accountFormat.encode(account))
      return account
    })
  }

  change(accountId: string, change: AccountChange): Promise<AccountRecord> {
    return this.#change('accounts', async d => {
      const account = { ...(await this.#account(d, accountId)), ...change }
      checkAccount(account)
      const builtIn = builtInAccount(accountId)
      if (builtIn?.admin && (account.disabled || !account.admin)) {
        throw new Fault('InvalidArgument', { reason: 'the root account stays what it is' })
      }
      d.put(at.account(accountId), accountFormat.encode(account))
      return account
    })
  }

  /**
   * With its own keys. Users and buckets must be gone before; objects in buckets of others keep their owner's id, and
   * lists and policies go on naming it. So neither of its ids is ever given to somebody else.
   */
  remove(accountId: string): Promise<void> {
    return this.#change('accounts', async (d, mark) => {
      const account = await this.#account(d, accountId)
      if (builtInAccount(accountId) !== undefined) throw new Fault('DeleteConflict', { reason: 'it is built in' })
      const [user] = await this.#engine.meta.scan(all.users(accountId), 1)
      if (user !== undefined) throw new Fault('DeleteConflict', { reason: 'the account has users' })
      const owned = await this.#owns(account.canonicalId)
      if (owned) throw new Fault('DeleteConflict', { reason: 'the account owns buckets' })
      for (const key of await this.keys({ accountId, user: undefined })) removeKey(d, key)
      d.remove(at.account(accountId))
      d.put(at.formerAccount(accountId), canonicalIdFormat.encode(account.canonicalId))
      mark.total--
    })
  }

  /** Whose a canonical id is, or was. */
  holderOf(canonicalId: string): Promise<string | undefined> {
    return decide(this.#engine, d => this.#holder(d, canonicalId))
  }

  async #holder(d: Decision, canonicalId: string): Promise<string | undefined> {
    const builtIn = BUILT_IN.find(other => other.canonicalId === canonicalId)
    if (builtIn !== undefined) return builtIn.accountId
    const entry = await d.get(at.canonicalId(canonicalId))
    return entry === undefined ? undefined : canonicalIdFormat.decode(entry.value)
  }

  async users(accountId: string): Promise<UserRecord[]> {
    await this.get(accountId)
    const users: UserRecord[] = []
    for await (const entry of this.#all(all.users(accountId))) users.push(userFormat.decode(entry.value))
    return users
  }

  async user(accountId: string, name: string): Promise<UserRecord> {
    checkAccountId(accountId)
    checkUserName(name)
    const entry = await this.#engine.meta.get(at.user(accountId, name))
    if (entry === undefined) throw noSuch('user', name)
    return userFormat.decode(entry.value)
  }

  /** `again`: it is the one of this name that was deleted, with everything that still names it. */
  createUser(accountId: string, name: string, again = false): Promise<UserRecord> {
    checkUserName(name)
    return this.#change('keys', async d => {
      await this.#account(d, accountId)
      if ((await d.get(at.user(accountId, name))) !== undefined) throw isThere('user', name)
      const isFormer = (await d.get(at.formerUser(accountId, name))) !== undefined
      if (isFormer && !again) throw wasThere(`user ${name}`)
      if (isFormer) d.remove(at.formerUser(accountId, name))
      const limit = ACCOUNT_LIMITS.usersPerAccountMax
      if ((await this.#engine.meta.scan(all.users(accountId), limit)).length >= limit) throw new Fault('LimitExceeded')
      const user: UserRecord = { accountId, name, policies: [], disabled: false, createdAt: this.#engine.clock.now() }
      d.put(at.user(accountId, name), userFormat.encode(user))
      return user
    })
  }

  /** What a user is from now on; policies that cannot be read are refused here, whoever gives them. */
  changeUser(
    accountId: string,
    name: string,
    change: (user: UserRecord) => Partial<Pick<UserRecord, 'policies' | 'disabled'>>,
  ): Promise<UserRecord> {
    return this.#change('keys', async d => {
      const before = await userIn(d, accountId, name)
      const user = { ...before, ...change(before) }
      for (const policy of user.policies) checkPolicyName(policy.name)
      checkPolicies(user.policies.map(({ document }) => document))
      d.put(at.user(accountId, name), userFormat.encode(user))
      return user
    })
  }

  /** With its keys. Policies of buckets go on naming it, so its name is given to nobody else. */
  removeUser(accountId: string, name: string): Promise<void> {
    return this.#change('keys', async d => {
      await userIn(d, accountId, name)
      for (const key of await this.keys({ accountId, user: name })) removeKey(d, key)
      d.remove(at.user(accountId, name))
      d.put(at.formerUser(accountId, name), keyOfFormat.encode({}))
    })
  }

  async key(accessKey: string): Promise<KeyFacts> {
    checkAccessKey(accessKey)
    const entry = await this.#engine.meta.get(at.accessKey(accessKey))
    if (entry === undefined) throw noSuch('access key', accessKey)
    return factsOf(keyFormat.decode(entry.value))
  }

  /** Of one owner, or of an account and all its users. */
  async keys(owner: KeyOwner | { readonly accountId: string }): Promise<KeyFacts[]> {
    const { accountId } = owner
    checkAccountId(accountId)
    const keys: KeyFacts[] = []
    const range = 'user' in owner ? all.keysOf(accountId, owner.user) : all.keysOfAccount(accountId)
    for await (const { key } of this.#all(range)) {
      const accessKey = key.toString('utf8', key.lastIndexOf(0, -2) + 1, key.length - 1)
      const entry = await this.#engine.meta.get(at.accessKey(accessKey))
      if (entry !== undefined) keys.push(factsOf(keyFormat.decode(entry.value)))
    }
    return keys
  }

  createKey(wish: KeyWish): Promise<KeyFacts> {
    const { accountId, user, accessKey } = wish
    checkAccessKey(accessKey)
    checkSecretKey(wish.secretKey)
    return this.#change('keys', async d => {
      await this.#account(d, accountId)
      if (user !== undefined) await userIn(d, accountId, user)
      if ((await d.get(at.accessKey(accessKey))) !== undefined) throw isThere('access key', accessKey)
      if ((await this.keys({ accountId, user })).length >= ACCOUNT_LIMITS.keysPerOwnerMax) {
        throw new Fault('LimitExceeded')
      }
      const key = { accessKey, accountId, user, disabled: false, createdAt: this.#engine.clock.now() }
      this.#putKey(d, key, wish.secretKey)
      return key
    })
  }

  changeKey(
    accessKey: string,
    change: { readonly disabled?: boolean; readonly secretKey?: string },
  ): Promise<KeyFacts> {
    if (change.secretKey !== undefined) checkSecretKey(change.secretKey)
    return this.#change('keys', async d => {
      const before = await keyIn(d, accessKey)
      const key = { ...before, disabled: change.disabled ?? before.disabled }
      if (change.secretKey !== undefined) this.#putKey(d, key, change.secretKey)
      else d.put(at.accessKey(accessKey), keyFormat.encode(key))
      return factsOf(key)
    })
  }

  removeKey(accessKey: string): Promise<void> {
    return this.#change('keys', async d => removeKey(d, await keyIn(d, accessKey)))
  }

  /** Whether this is the key's secret, for whoever was given one again. */
  async hasSecret(accessKey: string, secretKey: string): Promise<boolean> {
    const entry = await this.#engine.meta.get(at.accessKey(accessKey))
    if (entry === undefined) return false
    return openSecret(this.#engine.keyring, keyFormat.decode(entry.value).sealedSecret, accessKey) === secretKey
  }

  #putKey(d: Decision, key: KeyFacts, secretKey: string): void {
    const { accessKey, accountId, user } = key
    const sealedSecret = sealSecret(this.#engine.keyring, secretKey, accessKey, this.#engine.random)
    d.put(at.accessKey(accessKey), keyFormat.encode({ ...key, sealedSecret }))
    d.put(at.keyOf(accountId, user, accessKey), keyOfFormat.encode({}))
  }

  #change<T>(what: 'accounts' | 'keys', attempt: (d: Decision, mark: { total: number }) => Promise<T>): Promise<T> {
    return decide(this.#engine, async d => {
      // Read first: whatever is looked at afterwards, by scans too, is as it was when this was read.
      const entry = await d.get(at.accountsMark())
      const mark = { ...(entry === undefined ? NO_MARK : accountsMarkFormat.decode(entry.value)) }
      const result = await attempt(d, mark)
      d.put(at.accountsMark(), accountsMarkFormat.encode({ ...mark, [what]: mark[what] + 1 }))
      return result
    })
  }

  async #account(d: Decision, accountId: string): Promise<AccountRecord> {
    checkAccountId(accountId)
    const account = await accountIn(d, accountId)
    if (account === undefined) throw noSuch('account', accountId)
    return account
  }

  async #owns(canonicalId: string): Promise<boolean> {
    for await (const entry of this.#all(all.buckets())) {
      if (bucketFormat.decode(entry.value).owner === canonicalId) return true
    }
    return false
  }

  async *#all({ start, end }: KeyRange): AsyncGenerator<Entry> {
    for (let from = start; ; ) {
      const page = await this.#engine.meta.scan({ start: from, end }, PAGE)
      yield* page
      if (page.length < PAGE) return
      from = justAfter(page.at(-1)!.key)
    }
  }
}

async function accountIn(d: Decision, accountId: string): Promise<AccountRecord | undefined> {
  const entry = await d.get(at.account(accountId))
  return entry === undefined ? builtInAccount(accountId) : accountFormat.decode(entry.value)
}

/** The canonical id of an account that was deleted. */
async function formerIn(d: Decision, accountId: string): Promise<string | undefined> {
  const entry = await d.get(at.formerAccount(accountId))
  return entry === undefined ? undefined : canonicalIdFormat.decode(entry.value)
}

async function userIn(d: Decision, accountId: string, name: string): Promise<UserRecord> {
  checkAccountId(accountId)
  checkUserName(name)
  const entry = await d.get(at.user(accountId, name))
  if (entry === undefined) throw noSuch('user', name)
  return userFormat.decode(entry.value)
}

async function keyIn(d: Decision, accessKey: string): Promise<KeyRecord> {
  checkAccessKey(accessKey)
  const entry = await d.get(at.accessKey(accessKey))
  if (entry === undefined) throw noSuch('access key', accessKey)
  return keyFormat.decode(entry.value)
}

function removeKey(d: Decision, { accessKey, accountId, user }: KeyFacts): void {
  d.remove(at.accessKey(accessKey))
  d.remove(at.keyOf(accountId, user, accessKey))
}

function checkAccount({ canonicalId, displayName, email }: AccountRecord): void {
  checkCanonicalId(canonicalId)
  checkDisplayName(displayName)
  if (email !== undefined) checkEmail(email)
}

function factsOf({ accessKey, accountId, user, disabled, createdAt }: KeyRecord): KeyFacts {
  return { accessKey, accountId, user, disabled, createdAt }
}
