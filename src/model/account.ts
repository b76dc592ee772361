/** Accounts, users and access keys as stored. A secret is stored sealed, never in clear. */
import { createHash } from 'node:crypto'
import { bytes, flag, format, list, optional, struct, text, uint } from '../lib/codec.ts'
import type { Account } from './caller.ts'

export interface AccountRecord extends Account {
  /** The account's own keys may administer the server. */
  readonly admin: boolean
  /** Disables the account's own keys and those of its users. */
  readonly disabled: boolean
  readonly createdAt: number
}

interface AttachedPolicy {
  readonly name: string
  /** The text as given. */
  readonly document: string
  /** Set for policies from the accounts file, which may also remove them. */
  readonly fromFile: boolean
}

export interface UserRecord {
  readonly accountId: string
  readonly name: string
  readonly policies: readonly AttachedPolicy[]
  readonly disabled: boolean
  readonly createdAt: number
}

export interface KeyRecord {
  readonly accessKey: string
  readonly accountId: string
  /** The user the key belongs to; undefined for the account's own key. */
  readonly user: string | undefined
  readonly sealedSecret: Buffer
  readonly disabled: boolean
  readonly createdAt: number
}

/** Change counters that caches compare to know whether they are current. */
export interface AccountsMark {
  /** Number of accounts that are not built in. */
  readonly total: number
  readonly accounts: number
  /** Users, policies and keys. */
  readonly keys: number
}

export const accountFormat = format<AccountRecord>(
  'A1',
  struct<AccountRecord>({
    accountId: text,
    canonicalId: text,
    displayName: text,
    email: optional(text),
    admin: flag,
    disabled: flag,
    createdAt: uint,
  }),
)

export const userFormat = format<UserRecord>(
  'N1',
  struct<UserRecord>({
    accountId: text,
    name: text,
    policies: list(struct<AttachedPolicy>({ name: text, document: text, fromFile: flag })),
    disabled: flag,
    createdAt: uint,
  }),
)

export const keyFormat = format<KeyRecord>(
  'Y1',
  struct<KeyRecord>({
    accessKey: text,
    accountId: text,
    user: optional(text),
    sealedSecret: bytes,
    disabled: flag,
    createdAt: uint,
  }),
)

/** An entry without a value: its key says that an access key belongs to an owner, or that a user existed. */
export const keyOfFormat = format<object>('J1', struct<object>({}))

/** The account of a canonical id. */
export const canonicalIdFormat = format<string>('S1', text)

export const accountsMarkFormat = format<AccountsMark>(
  'Q1',
  struct<AccountsMark>({ total: uint, accounts: uint, keys: uint }),
)

export const ROOT_ACCOUNT_ID = '000000000000'

/** Derived from the account id, so that the canonical id is stable wherever none is given. */
export const canonicalIdOf = (accountId: string): string =>
  createHash('sha256').update(`holdfast account ${accountId}`).digest('hex')

/** G9. The account granted by the canned ACL `exec-read`. It has no keys until an administrator creates one. */
export const EXEC_ACCOUNT_ID = '925556999980'
export const EXEC_CANONICAL_ID = createHash('sha256').update('svc-exec').digest('hex')

const builtIn = (accountId: string, canonicalId: string, displayName: string, admin: boolean): AccountRecord => ({
  accountId,
  canonicalId,
  displayName,
  email: undefined,
  admin,
  disabled: false,
  createdAt: 0,
})

/** Always present; a stored record of the same id overrides the entry. */
export const BUILT_IN: readonly AccountRecord[] = [
  builtIn(ROOT_ACCOUNT_ID, canonicalIdOf(ROOT_ACCOUNT_ID), 'root', true),
  builtIn(EXEC_ACCOUNT_ID, EXEC_CANONICAL_ID, 'svc-exec', false),
]

export const builtInAccount = (accountId: string): AccountRecord | undefined =>
  BUILT_IN.find(account => account.accountId === accountId)
