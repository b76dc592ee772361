/**
 * Accounts, users and access keys. Every change increments one mark in the same commit. Caches in every process compare
 * the mark to know whether they are current, and concurrent changes are serialized by it.
 */
import { openSecret, sealSecret } from '../../crypto/secret-box.ts'
import { keySuccessor } from '../../lib/bytes.ts'
import type { Random } from '../../lib/random.ts'
import type { Entry, KeyRange } from '../../meta/meta.ts'
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
} from '../../model/account.ts'
import { bucketFormat } from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
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
} from '../../rules/accounts.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'

const PAGE = 1000
export const NO_MARK: AccountsMark = { total: 0, accounts: 0, keys: 0 }

interface NewAccount {
  readonly accountId: string
  readonly canonicalId?: string | undefined
  readonly displayName?: string | undefined
  readonly email?: string | undefined
  readonly admin?: boolean | undefined
  /** The account is a deleted one of the same id; grants and policies that still name it apply again. */
  readonly again?: boolean | undefined
}

type AccountChange = Partial<Pick<AccountRecord, 'displayName' | 'email' | 'admin' | 'disabled'>>

/** The owner of an access key: an account itself, or one of its users. */
export interface KeyOwner {
  readonly accountId: string
  readonly user: string | undefined
}

interface NewAccessKey extends KeyOwner {
  readonly accessKey: string
  readonly secretKey: string
}

/** An access key without its secret, which is shown only at creation. */
export type AccessKeyInfo = Omit<KeyRecord, 'sealedSecret'>

export function generateAccessKey(random: Random): { readonly accessKey: string; readonly secretKey: string } {
  return {
    accessKey: `HF${random.bytes(9).toString('hex').toUpperCase()}`,
    secretKey: random.bytes(30).toString('base64url'),
  }
}

/** 12 digits without a leading 0, which is reserved for built-in accounts. */
export function freshAccountId(random: Random): string {
  const digits = random.bytes(8).readBigUInt64BE() % 900_000_000_000n
  return String(100_000_000_000n + digits)
}

const noSuch = (what: string, name: string): Fault =>
  new Fault('NoSuchEntity', { reason: `there is no ${what} ${name}` })
const alreadyExists = (what: string, name: string): Fault =>
  new Fault('EntityAlreadyExists', { reason: `${what} ${name} already exists` })
/** Grants to the deleted entity would silently apply to the new one. */
const wasDeleted = (what: string): Fault =>
  new Fault('EntityAlreadyExists', {
    reason: `${what} was deleted, and grants to it would apply again: restore it with "again" or choose another name`,
  })

export class Accounts {
  readonly #context: StoreContext

  constructor(context: StoreContext) {
    this.#context = context
  }

  /** All accounts in id order, including built-in ones. */
  async list(): Promise<AccountRecord[]> {
    const found = new Map(BUILT_IN.map(account => [account.accountId, account]))
    for await (const entry of this.#all(keyRanges.accounts())) {
      const account = accountFormat.decode(entry.value)
      found.set(account.accountId, account)
    }
    return [...found.values()].sort((a, b) => (a.accountId < b.accountId ? -1 : 1))
  }

  async get(accountId: string): Promise<AccountRecord> {
    checkAccountId(accountId)
    const entry = await this.#context.meta.get(recordKey.account(accountId))
    const account = entry === undefined ? builtInAccount(accountId) : accountFormat.decode(entry.value)
    if (account === undefined) throw noSuch('account', accountId)
    return account
  }

  create(request: NewAccount): Promise<AccountRecord> {
    checkAccountId(request.accountId)
    return this.#change('accounts', async (tx, mark) => {
      if ((await accountIn(tx, request.accountId)) !== undefined) throw alreadyExists('account', request.accountId)
      const formerCanonicalId = await formerIn(tx, request.accountId)
      if (formerCanonicalId !== undefined && request.again !== true) throw wasDeleted(`account ${request.accountId}`)
      const account: AccountRecord = {
        accountId: request.accountId,
        canonicalId: request.canonicalId ?? formerCanonicalId ?? canonicalIdOf(request.accountId),
        displayName: request.displayName ?? request.accountId,
        email: request.email,
        admin: request.admin ?? false,
        disabled: false,
        createdAt: this.#context.clock.now(),
      }
      checkAccount(account)
      if (mark.total >= ACCOUNT_LIMITS.accountsMax) throw new Fault('LimitExceeded')
      const { accountId, canonicalId } = account
      const holder = await this.#holder(tx, canonicalId)
      if (holder !== undefined && holder !== accountId)
        throw alreadyExists('account with the canonical id', canonicalId)
      tx.put(recordKey.canonicalId(canonicalId), canonicalIdFormat.encode(accountId))
      if (formerCanonicalId !== undefined) tx.remove(recordKey.formerAccount(accountId))
      mark.total++
      tx.put(recordKey.account(account.accountId), accountFormat.encode(account))
      return account
    })
  }

  change(accountId: string, change: AccountChange): Promise<AccountRecord> {
    return this.#change('accounts', async tx => {
      const account = { ...(await this.#account(tx, accountId)), ...change }
      checkAccount(account)
      const builtIn = builtInAccount(accountId)
      if (builtIn?.admin && (account.disabled || !account.admin)) {
        throw new Fault('InvalidArgument', { reason: 'the root account cannot be disabled and stays an administrator' })
      }
      tx.put(recordKey.account(accountId), accountFormat.encode(account))
      return account
    })
  }

  /**
   * Removes an account and its own keys. Its users and buckets must be gone. Objects in other accounts' buckets keep
   * its canonical id, and ACLs and policies still name it, so neither of its ids is ever assigned to another account.
   */
  remove(accountId: string): Promise<void> {
    return this.#change('accounts', async (tx, mark) => {
      const account = await this.#account(tx, accountId)
      if (builtInAccount(accountId) !== undefined)
        throw new Fault('DeleteConflict', { reason: 'the account is built in' })
      const [user] = await this.#context.meta.scan(keyRanges.users(accountId), 1)
      if (user !== undefined) throw new Fault('DeleteConflict', { reason: 'the account has users' })
      const ownsBuckets = await this.#owns(account.canonicalId)
      if (ownsBuckets) throw new Fault('DeleteConflict', { reason: 'the account owns buckets' })
      for (const key of await this.keys({ accountId, user: undefined })) removeKey(tx, key)
      tx.remove(recordKey.account(accountId))
      tx.put(recordKey.formerAccount(accountId), canonicalIdFormat.encode(account.canonicalId))
      mark.total--
    })
  }

  /** The account that has or had this canonical id. */
  holderOf(canonicalId: string): Promise<string | undefined> {
    return transact(this.#context, tx => this.#holder(tx, canonicalId))
  }

  async #holder(tx: Transaction, canonicalId: string): Promise<string | undefined> {
    const builtIn = BUILT_IN.find(other => other.canonicalId === canonicalId)
    if (builtIn !== undefined) return builtIn.accountId
    const entry = await tx.get(recordKey.canonicalId(canonicalId))
    return entry === undefined ? undefined : canonicalIdFormat.decode(entry.value)
  }

  async users(accountId: string): Promise<UserRecord[]> {
    await this.get(accountId)
    const users: UserRecord[] = []
    for await (const entry of this.#all(keyRanges.users(accountId))) users.push(userFormat.decode(entry.value))
    return users
  }

  async user(accountId: string, name: string): Promise<UserRecord> {
    checkAccountId(accountId)
    checkUserName(name)
    const entry = await this.#context.meta.get(recordKey.user(accountId, name))
    if (entry === undefined) throw noSuch('user', name)
    return userFormat.decode(entry.value)
  }

  /** `again`: the user is a deleted one of the same name; policies that still name it apply again. */
  createUser(accountId: string, name: string, again = false): Promise<UserRecord> {
    checkUserName(name)
    return this.#change('keys', async tx => {
      await this.#account(tx, accountId)
      if ((await tx.get(recordKey.user(accountId, name))) !== undefined) throw alreadyExists('user', name)
      const isFormer = (await tx.get(recordKey.formerUser(accountId, name))) !== undefined
      if (isFormer && !again) throw wasDeleted(`user ${name}`)
      if (isFormer) tx.remove(recordKey.formerUser(accountId, name))
      const limit = ACCOUNT_LIMITS.usersPerAccountMax
      if ((await this.#context.meta.scan(keyRanges.users(accountId), limit)).length >= limit)
        throw new Fault('LimitExceeded')
      const user: UserRecord = { accountId, name, policies: [], disabled: false, createdAt: this.#context.clock.now() }
      tx.put(recordKey.user(accountId, name), userFormat.encode(user))
      return user
    })
  }

  /** Changes a user; invalid policies are rejected here for every caller. */
  changeUser(
    accountId: string,
    name: string,
    change: (user: UserRecord) => Partial<Pick<UserRecord, 'policies' | 'disabled'>>,
  ): Promise<UserRecord> {
    return this.#change('keys', async tx => {
      const before = await userIn(tx, accountId, name)
      const user = { ...before, ...change(before) }
      for (const policy of user.policies) checkPolicyName(policy.name)
      checkPolicies(user.policies.map(({ document }) => document))
      tx.put(recordKey.user(accountId, name), userFormat.encode(user))
      return user
    })
  }

  /** Removes a user and its keys. Bucket policies may still name it, so its name is not assigned to a new user. */
  removeUser(accountId: string, name: string): Promise<void> {
    return this.#change('keys', async tx => {
      await userIn(tx, accountId, name)
      for (const key of await this.keys({ accountId, user: name })) removeKey(tx, key)
      tx.remove(recordKey.user(accountId, name))
      tx.put(recordKey.formerUser(accountId, name), keyOfFormat.encode({}))
    })
  }

  async key(accessKey: string): Promise<AccessKeyInfo> {
    checkAccessKey(accessKey)
    const entry = await this.#context.meta.get(recordKey.accessKey(accessKey))
    if (entry === undefined) throw noSuch('access key', accessKey)
    return withoutSecret(keyFormat.decode(entry.value))
  }

  /** Keys of one owner, or of an account and all its users. */
  async keys(owner: KeyOwner | { readonly accountId: string }): Promise<AccessKeyInfo[]> {
    const { accountId } = owner
    checkAccountId(accountId)
    const keys: AccessKeyInfo[] = []
    const range = 'user' in owner ? keyRanges.keysOf(accountId, owner.user) : keyRanges.keysOfAccount(accountId)
    for await (const { key } of this.#all(range)) {
      const accessKey = key.toString('utf8', key.lastIndexOf(0, -2) + 1, key.length - 1)
      const entry = await this.#context.meta.get(recordKey.accessKey(accessKey))
      if (entry !== undefined) keys.push(withoutSecret(keyFormat.decode(entry.value)))
    }
    return keys
  }

  createKey(request: NewAccessKey): Promise<AccessKeyInfo> {
    const { accountId, user, accessKey } = request
    checkAccessKey(accessKey)
    checkSecretKey(request.secretKey)
    return this.#change('keys', async tx => {
      await this.#account(tx, accountId)
      if (user !== undefined) await userIn(tx, accountId, user)
      if ((await tx.get(recordKey.accessKey(accessKey))) !== undefined) throw alreadyExists('access key', accessKey)
      if ((await this.keys({ accountId, user })).length >= ACCOUNT_LIMITS.keysPerOwnerMax) {
        throw new Fault('LimitExceeded')
      }
      const key = { accessKey, accountId, user, disabled: false, createdAt: this.#context.clock.now() }
      this.#putKey(tx, key, request.secretKey)
      return key
    })
  }

  changeKey(
    accessKey: string,
    change: { readonly disabled?: boolean; readonly secretKey?: string },
  ): Promise<AccessKeyInfo> {
    if (change.secretKey !== undefined) checkSecretKey(change.secretKey)
    return this.#change('keys', async tx => {
      const before = await keyIn(tx, accessKey)
      const key = { ...before, disabled: change.disabled ?? before.disabled }
      if (change.secretKey !== undefined) this.#putKey(tx, key, change.secretKey)
      else tx.put(recordKey.accessKey(accessKey), keyFormat.encode(key))
      return withoutSecret(key)
    })
  }

  removeKey(accessKey: string): Promise<void> {
    return this.#change('keys', async tx => removeKey(tx, await keyIn(tx, accessKey)))
  }

  /** Whether this is the key's secret. */
  async hasSecret(accessKey: string, secretKey: string): Promise<boolean> {
    const entry = await this.#context.meta.get(recordKey.accessKey(accessKey))
    if (entry === undefined) return false
    return openSecret(this.#context.keyring, keyFormat.decode(entry.value).sealedSecret, accessKey) === secretKey
  }

  #putKey(tx: Transaction, key: AccessKeyInfo, secretKey: string): void {
    const { accessKey, accountId, user } = key
    const sealedSecret = sealSecret(this.#context.keyring, secretKey, accessKey, this.#context.random)
    tx.put(recordKey.accessKey(accessKey), keyFormat.encode({ ...key, sealedSecret }))
    tx.put(recordKey.keyOf(accountId, user, accessKey), keyOfFormat.encode({}))
  }

  #change<T>(what: 'accounts' | 'keys', attempt: (tx: Transaction, mark: { total: number }) => Promise<T>): Promise<T> {
    return transact(this.#context, async tx => {
      // Read first, so that later reads, including scans, are at least as new as the mark.
      const entry = await tx.get(recordKey.accountsMark())
      const mark = { ...(entry === undefined ? NO_MARK : accountsMarkFormat.decode(entry.value)) }
      const result = await attempt(tx, mark)
      tx.put(recordKey.accountsMark(), accountsMarkFormat.encode({ ...mark, [what]: mark[what] + 1 }))
      return result
    })
  }

  async #account(tx: Transaction, accountId: string): Promise<AccountRecord> {
    checkAccountId(accountId)
    const account = await accountIn(tx, accountId)
    if (account === undefined) throw noSuch('account', accountId)
    return account
  }

  async #owns(canonicalId: string): Promise<boolean> {
    for await (const entry of this.#all(keyRanges.buckets())) {
      if (bucketFormat.decode(entry.value).owner === canonicalId) return true
    }
    return false
  }

  async *#all({ start, end }: KeyRange): AsyncGenerator<Entry> {
    for (let from = start; ; ) {
      const page = await this.#context.meta.scan({ start: from, end }, PAGE)
      yield* page
      if (page.length < PAGE) return
      from = keySuccessor(page.at(-1)!.key)
    }
  }
}

async function accountIn(tx: Transaction, accountId: string): Promise<AccountRecord | undefined> {
  const entry = await tx.get(recordKey.account(accountId))
  return entry === undefined ? builtInAccount(accountId) : accountFormat.decode(entry.value)
}

/** The canonical id of a deleted account. */
async function formerIn(tx: Transaction, accountId: string): Promise<string | undefined> {
  const entry = await tx.get(recordKey.formerAccount(accountId))
  return entry === undefined ? undefined : canonicalIdFormat.decode(entry.value)
}

async function userIn(tx: Transaction, accountId: string, name: string): Promise<UserRecord> {
  checkAccountId(accountId)
  checkUserName(name)
  const entry = await tx.get(recordKey.user(accountId, name))
  if (entry === undefined) throw noSuch('user', name)
  return userFormat.decode(entry.value)
}

async function keyIn(tx: Transaction, accessKey: string): Promise<KeyRecord> {
  checkAccessKey(accessKey)
  const entry = await tx.get(recordKey.accessKey(accessKey))
  if (entry === undefined) throw noSuch('access key', accessKey)
  return keyFormat.decode(entry.value)
}

function removeKey(tx: Transaction, { accessKey, accountId, user }: AccessKeyInfo): void {
  tx.remove(recordKey.accessKey(accessKey))
  tx.remove(recordKey.keyOf(accountId, user, accessKey))
}

function checkAccount({ canonicalId, displayName, email }: AccountRecord): void {
  checkCanonicalId(canonicalId)
  checkDisplayName(displayName)
  if (email !== undefined) checkEmail(email)
}

function withoutSecret({ accessKey, accountId, user, disabled, createdAt }: KeyRecord): AccessKeyInfo {
  return { accessKey, accountId, user, disabled, createdAt }
}
