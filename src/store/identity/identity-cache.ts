/**
 * Looks up accounts and credentials for requests. Each request reads one small record, the accounts mark; cached
 * entries are used only while the mark is unchanged. A change made by another process is therefore never missed, and
 * the common request costs one lookup.
 */
import { openSecret } from '../../crypto/secret-box.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { Entry, Stamp } from '../../meta/meta.ts'
import {
  type AccountRecord,
  accountsMarkFormat,
  type KeyRecord,
  keyFormat,
  ROOT_ACCOUNT_ID,
  userFormat,
} from '../../model/account.ts'
import type { Account, Credential, User } from '../../model/caller.ts'
import { mapKeyOf, type ReadAhead } from '../commit/authorized-view.ts'
import { recordKey } from '../commit/record-keys.ts'
import type { StoreContext } from '../store-context.ts'
import { Accounts, NO_MARK } from './accounts.ts'

/** Credentials cached with their secrets; others are read and unsealed again. */
const CREDENTIALS_MAX = 4096

export interface RootKey {
  readonly accessKey: string
  readonly secretKey: string
}

/** All accounts by id, canonical id and email, as of one mark. */
class Register {
  readonly byId = new Map<string, AccountRecord>()
  readonly byCanonicalId = new Map<string, AccountRecord>()
  readonly byEmail = new Map<string, AccountRecord[]>()

  constructor(accounts: readonly AccountRecord[]) {
    for (const account of accounts) {
      this.byId.set(account.accountId, account)
      this.byCanonicalId.set(account.canonicalId, account)
      if (account.email === undefined) continue
      const email = account.email.toLowerCase()
      this.byEmail.set(email, [...(this.byEmail.get(email) ?? []), account])
    }
  }
}

type Identity = Pick<Credential, 'account' | 'user'>

/** Accounts and credentials as of one mark. */
export class IdentitySnapshot {
  readonly stamp: Stamp | undefined
  /** The mark's count of account changes that the register reflects. */
  readonly accountsCount: number
  readonly register: Register
  readonly #context: StoreContext
  readonly #root: RootKey | undefined
  readonly #credentials = new Map<string, Credential>()

  constructor(
    context: StoreContext,
    root: RootKey | undefined,
    asOf: { readonly stamp: Stamp | undefined; readonly accountsCount: number; readonly register: Register },
  ) {
    this.#context = context
    this.#root = root
    this.stamp = asOf.stamp
    this.accountsCount = asOf.accountsCount
    this.register = asOf.register
  }

  byCanonicalId(id: string): Account | undefined {
    return this.register.byCanonicalId.get(id)
  }

  byEmail(email: string): readonly Account[] {
    return this.register.byEmail.get(email.toLowerCase()) ?? []
  }

  byAccountId(accountId: string): AccountRecord | undefined {
    return this.register.byId.get(accountId)
  }

  /** Undefined for a key that is unknown, disabled or deleted, or whose account or user is. */
  findCredential(accessKey: string): MaybePromise<Credential | undefined> {
    return this.#credentials.get(accessKey) ?? this.#load(accessKey)
  }

  /** A user or an account itself, with or without keys; undefined when it is unknown or disabled. */
  async find(accountId: string, user: string | undefined): Promise<Identity | undefined> {
    const account = this.register.byId.get(accountId)
    if (account === undefined || account.disabled) return undefined
    if (user === undefined) return { account, user }
    const found = await this.#user(accountId, user)
    return found === 'none' ? undefined : { account, user: found }
  }

  async #load(accessKey: string): Promise<Credential | undefined> {
    const found = accessKey === this.#root?.accessKey ? this.#rootCredential(this.#root) : await this.#read(accessKey)
    if (found === undefined) return undefined
    if (this.#credentials.size >= CREDENTIALS_MAX) this.#credentials.delete(this.#credentials.keys().next().value!)
    this.#credentials.set(accessKey, found)
    return found
  }

  /** The root key is not stored, but no other key can have its name. */
  isRootKey(accessKey: string): boolean {
    return accessKey === this.#root?.accessKey
  }

  /** Only an administrator account's own key may administer the server, never a user's. */
  mayAdminister(credential: Pick<Credential, 'account' | 'user'>): boolean {
    return credential.user === undefined && this.register.byId.get(credential.account.accountId)?.admin === true
  }

  #rootCredential({ accessKey, secretKey }: RootKey): Credential {
    return { accessKey, secretKey, account: this.register.byId.get(ROOT_ACCOUNT_ID)!, user: undefined }
  }

  async #read(accessKey: string): Promise<Credential | undefined> {
    if (accessKey.includes('\0')) return undefined
    const entry = await this.#context.meta.get(recordKey.accessKey(accessKey))
    if (entry === undefined) return undefined
    const key = keyFormat.decode(entry.value)
    const account = this.register.byId.get(key.accountId)
    if (key.disabled || account === undefined || account.disabled) return undefined
    const user = key.user === undefined ? undefined : await this.#user(key.accountId, key.user)
    if (user === 'none') return undefined
    return { accessKey, secretKey: await this.#secretOf(key), account, user }
  }

  async #user(accountId: string, name: string): Promise<User | 'none'> {
    const entry = await this.#context.meta.get(recordKey.user(accountId, name))
    if (entry === undefined) return 'none'
    const user = userFormat.decode(entry.value)
    return user.disabled ? 'none' : { name, policies: user.policies.map(({ document }) => document) }
  }

  #secretOf({ accessKey, sealedSecret }: KeyRecord): Promise<string> {
    const { keyring } = this.#context
    return keyring.upToDate(() => openSecret(keyring, sealedSecret, accessKey))
  }
}

export class IdentityCache {
  readonly #context: StoreContext
  readonly #root: RootKey | undefined
  readonly #accounts: Accounts
  readonly #markKey = recordKey.accountsMark()
  readonly #markName = mapKeyOf(this.#markKey)
  /** The mark as last read. */
  #mark: Entry | undefined
  #snapshot: IdentitySnapshot | undefined
  #loading: { readonly stamp: Stamp | undefined; readonly result: Promise<IdentitySnapshot> } | undefined

  /** The root key is configured by the operator and never stored. */
  constructor(context: StoreContext, root: RootKey | undefined) {
    this.#context = context
    this.#root = root
    this.#accounts = new Accounts(context)
  }

  /** Includes every change acknowledged before this call, or before the mark was read ahead. */
  now(ahead?: ReadAhead): MaybePromise<IdentitySnapshot> {
    if (ahead?.has(this.#markName)) return this.#asOf(ahead.get(this.#markName))
    const entry = this.#context.meta.get(this.#markKey, this.#mark)
    return entry instanceof Promise ? entry.then(found => this.#asOf(found)) : this.#asOf(entry)
  }

  #asOf(entry: Entry | undefined): MaybePromise<IdentitySnapshot> {
    this.#mark = entry
    if (this.#snapshot !== undefined && this.#snapshot.stamp === entry?.stamp) return this.#snapshot
    // Concurrent callers share one load while the mark is unchanged.
    if (this.#loading === undefined || this.#loading.stamp !== entry?.stamp) {
      const result = this.#read()
      this.#loading = { stamp: entry?.stamp, result }
      const done = (): void => {
        if (this.#loading?.result === result) this.#loading = undefined
      }
      result.then(done, done)
    }
    return this.#loading.result
  }

  async #read(): Promise<IdentitySnapshot> {
    for (;;) {
      const entry = await this.#context.meta.get(this.#markKey)
      const mark = entry === undefined ? NO_MARK : accountsMarkFormat.decode(entry.value)
      const previous = this.#snapshot
      const register =
        previous !== undefined && previous.accountsCount === mark.accounts
          ? previous.register
          : new Register(await this.#accounts.list())
      const after = await this.#context.meta.get(this.#markKey)
      if (after?.stamp !== entry?.stamp) continue
      const asOf = { stamp: entry?.stamp, accountsCount: mark.accounts, register }
      this.#snapshot = new IdentitySnapshot(this.#context, this.#root, asOf)
      return this.#snapshot
    }
  }
}
