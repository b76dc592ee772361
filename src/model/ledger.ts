/** Ledger entries: who changed a lock, when, from what to what, and which deletes a lock refused. */
import { fixed, format, struct, text, uint } from '../lib/codec.ts'
import type { DefaultRetention, LockMode } from './bucket.ts'

/** The author of a change, as far as it is known. */
export interface Actor {
  /** Account id; `anonymous` for unsigned requests, `holdfast` for the server itself. */
  readonly account: string
  readonly user?: string
  readonly accessKey?: string
  readonly request?: string
}

export const SERVER_ACTOR: Actor = { account: 'holdfast' }

/** A version's lock as recorded in the ledger. */
export interface LedgerLock {
  readonly hold: 'ON' | 'OFF' | null
  readonly retention: { readonly mode: LockMode; readonly until: string } | null
}

/** A bucket's lock configuration as recorded in the ledger. */
export interface LedgerConfiguration {
  readonly locks: boolean
  readonly default: Pick<DefaultRetention, 'mode' | 'days'> | null
}

export type LockReason = 'held' | 'compliance' | 'governance'

/**
 * The ledger of the store itself, under a name that no bucket can have. It records what affects the locks of all
 * buckets.
 */
export const STORE_LEDGER = '_store'

/** One recorded event. Its fields are written in the commit that makes the change. */
export type LedgerNote =
  /** The bucket's lock configuration: created with object lock, changed, or removed. */
  | {
      readonly what: 'configuration' | 'bucket removed'
      readonly bucketId: string
      readonly before: LedgerConfiguration | null
      readonly after: LedgerConfiguration | null
    }
  | LockChange
  | (VersionRef & { readonly what: 'removed'; readonly before: LedgerLock; readonly bypass: true })
  | (VersionRef & {
      readonly what: 'delete refused' | 'retention refused'
      readonly reason: LockReason
      /** Number of concurrent requests of the same caller with the same refusal; the request named is the first. */
      readonly times?: number
    })

  /** An operator confirmed the wall clock: lock time moved from `before` to `after`. */
  | { readonly what: 'clock confirmed'; readonly before: LedgerLockTime; readonly after: LedgerLockTime }

  /** Disabling a named key makes everything it wraps unreadable until it is enabled again. */
  | { readonly what: 'key disabled' | 'key enabled'; readonly keyName: string }
  /** Rotation of a keyring key, or of one named key. Data sealed before is unchanged. */
  | {
      readonly what: 'key rotated'
      readonly of: 'service' | 'storage' | 'named'
      readonly keyName?: string
      readonly version: number
    }
  /** A run began to rewrap all content keys under these key versions. */
  | { readonly what: 'keys rewrapped'; readonly service: number; readonly named: number }

export interface LedgerLockTime {
  readonly lockTime: string
}

export interface VersionRef {
  readonly key: string
  readonly versionId: string
}

/** `created`: a version was created with a requested lock. */
export interface LockChange extends VersionRef {
  readonly what: 'created' | 'hold' | 'retention'
  readonly before: LedgerLock | null
  readonly after: LedgerLock
  /** The change needed the permission to bypass governance. */
  readonly bypass?: true
}

/** Whether the entry set or changed the lock of a version. */
export const isLockChange = <N extends LedgerNote>(note: N): note is N & LockChange =>
  note.what === 'created' || note.what === 'hold' || note.what === 'retention'

/** The signed head of a bucket's chain: its number of entries and the hash of the last one. */
export interface LedgerHead {
  readonly entries: number
  readonly last: string
  readonly time: number
  readonly signature: Buffer
}

export const ledgerHeadFormat = format<LedgerHead>(
  'H1',
  struct<LedgerHead>({ entries: uint, last: text, time: uint, signature: fixed(64) }),
)

/** An entry is stored as the exact text that was hashed. */
export const ledgerEntryFormat = format<string>('R1', text)

/** An entry without a value: its key names a ledger entry that changed the lock of a version. */
export const ledgerIndexFormat = format<object>('I1', struct<object>({}))
