/**
 * Who may ask: accounts and keys as requests look them up. Each request reads one small record, the mark of the last
 * change; what was read before is used only while the mark is the same. So nothing is answered from what another
 * process has changed, and the usual request costs one look-up.
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
import { recordKey } from '../commit/record-keys.ts'
import type { StoreContext } from '../store-context.ts'
import { Accounts, NO_MARK } from './accounts.ts'

/** So many keys are remembered with their secrets; the others are read and opened again. */
const REMEMBERED_MAX = 4096

export interface RootKey {
  readonly accessKey: string
  readonly secretKey: string
}

/** Accounts by what names them: all of them, as of one moment. */
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

/** What is known as of one mark. */
export class IdentitySnapshot {
  readonly stamp: Stamp | undefined
  /** The count of changes to accounts that the register shows. */
  readonly accountsCount: number
  readonly register: Register
  readonly #context: StoreContext
  readonly #root: RootKey | undefined
  readonly #remembered = new Map<string, Credential>()

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
    return this.#remembered.get(accessKey) ?? this.#lookUp(accessKey)
  }

  async #lookUp(accessKey: string): Promise<Credential | undefined> {
    const found = accessKey === this.#root?.accessKey ? this.#rootCredential(this.#root) : await this.#read(accessKey)
    if (found === undefined) return undefined
    if (this.#remembered.size >= REMEMBERED_MAX) this.#remembered.delete(this.#remembered.keys().next().value!)
    this.#remembered.set(accessKey, found)
    return found
  }

  /** The root's key is no record, but nobody else can have one of its name. */
  isRootKey(accessKey: string): boolean {
    return accessKey === this.#root?.accessKey
  }

  /** Whether the caller's key may administer the server: an administrator's own key, never a user's. */
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
  readonly #markAddress = recordKey.accountsMark()
  /** The mark as it was read last. */
  #mark: Entry | undefined
  #known: IdentitySnapshot | undefined
  #reading: { readonly stamp: Stamp | undefined; readonly result: Promise<IdentitySnapshot> } | undefined

  /** The root's key is the operator's: it is never a record of the store. */
  constructor(context: StoreContext, root: RootKey | undefined) {
    this.#context = context
    this.#root = root
    this.#accounts = new Accounts(context)
  }

  /** As of now: every change that was acknowledged before this call is in it. */
  now(): MaybePromise<IdentitySnapshot> {
    const entry = this.#context.meta.get(this.#markAddress, this.#mark)
    return entry instanceof Promise ? entry.then(found => this.#asOf(found)) : this.#asOf(entry)
  }

  #asOf(entry: Entry | undefined): MaybePromise<IdentitySnapshot> {
    this.#mark = entry
    if (this.#known !== undefined && this.#known.stamp === entry?.stamp) return this.#known
    // Whoever comes while it is being read shares it, as long as nothing has changed in between.
    if (this.#reading === undefined || this.#reading.stamp !== entry?.stamp) {
      const result = this.#read()
      this.#reading = { stamp: entry?.stamp, result }
      const done = (): void => {
        if (this.#reading?.result === result) this.#reading = undefined
      }
      result.then(done, done)
    }
    return this.#reading.result
  }

  async #read(): Promise<IdentitySnapshot> {
    for (;;) {
      const entry = await this.#context.meta.get(this.#markAddress)
      const mark = entry === undefined ? NO_MARK : accountsMarkFormat.decode(entry.value)
      const known = this.#known
      const register =
        known !== undefined && known.accountsCount === mark.accounts
          ? known.register
          : new Register(await this.#accounts.list())
      const after = await this.#context.meta.get(this.#markAddress)
      if (after?.stamp !== entry?.stamp) continue
      const asOf = { stamp: entry?.stamp, accountsCount: mark.accounts, register }
      this.#known = new IdentitySnapshot(this.#context, this.#root, asOf)
      return this.#known
    }
  }
}
