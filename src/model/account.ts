/** Accounts, users and access keys as they are kept. A secret lies in its record sealed, never in clear. */
import { createHash } from 'node:crypto'
import { bytes, flag, format, list, optional, struct, text, uint } from '../lib/codec.ts'
import type { Account } from './caller.ts'

export interface AccountRecord extends Account {
  /** Its own keys may administer the server. */
  readonly admin: boolean
  /** None of its keys, and none of its users', opens anything. */
  readonly disabled: boolean
  readonly createdAt: number
}

export interface AttachedPolicy {
  readonly name: string
  /** As it was given. */
  readonly document: string
  /** The accounts file gave it, and may take it away. */
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
  /** The user it belongs to; none for the account's own key. */
  readonly user: string | undefined
  readonly sealedSecret: Buffer
  readonly disabled: boolean
  readonly createdAt: number
}

/** Counts the changes: whoever remembers something looks here whether it still holds. */
export interface AccountsMark {
  /** How many accounts there are that are not built in. */
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

/** That a key belongs to somebody, or that there was a user; everything is in the address. */
export const keyOfFormat = format<object>('J1', struct<object>({}))

/** Whose a canonical id is. */
export const canonicalIdFormat = format<string>('S1', text)

export const accountsMarkFormat = format<AccountsMark>(
  'Q1',
  struct<AccountsMark>({ total: uint, accounts: uint, keys: uint }),
)

export const ROOT_ACCOUNT_ID = '000000000000'

/** Derived, so that an account keeps its canonical id wherever it is given without one. */
export const canonicalIdOf = (accountId: string): string =>
  createHash('sha256').update(`holdfast account ${accountId}`).digest('hex')

/** G9. What the canned list `exec-read` lets in. Nobody has its keys until an administrator makes one. */
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

/** Always there; a record of the same id says what else is known of them. */
export const BUILT_IN: readonly AccountRecord[] = [
  builtIn(ROOT_ACCOUNT_ID, canonicalIdOf(ROOT_ACCOUNT_ID), 'root', true),
  builtIn(EXEC_ACCOUNT_ID, EXEC_CANONICAL_ID, 'svc-exec', false),
]

export const builtInAccount = (accountId: string): AccountRecord | undefined =>
  BUILT_IN.find(account => account.accountId === accountId)
