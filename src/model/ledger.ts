/** What a bucket's ledger remembers: who changed a lock, when, from what to what; and which deletes a lock refused. */
import { fixed, format, struct, text, uint } from '../lib/codec.ts'
import type { DefaultRetention, LockMode } from './bucket.ts'

/** Who did something, as far as it is known. Nobody is named for what the server does by itself. */
export interface Actor {
  /** Account number; `anonymous` for callers without a name, `holdfast` for the server itself. */
  readonly account: string
  readonly user?: string
  readonly accessKey?: string
  readonly request?: string
}

export const SERVER_ACTOR: Actor = { account: 'holdfast' }

/** A version's lock, as the ledger shows it. */
export interface LockShown {
  readonly hold: 'ON' | 'OFF' | null
  readonly retention: { readonly mode: LockMode; readonly until: string } | null
}

/** A bucket's lock configuration, as the ledger shows it. */
export interface ConfigurationShown {
  readonly locks: boolean
  readonly default: Pick<DefaultRetention, 'mode' | 'days'> | null
}

export type LockReason = 'held' | 'compliance' | 'governance'

/**
 * The ledger of the store itself stands beside those of its buckets, under a name that no bucket can have. It tells
 * what decides about the locks of all of them.
 */
export const STORE_LEDGER = '_store'

/** One thing that happened. Everything is shown as it was decided, in the commit that did it. */
export type LedgerNote =
  /** The bucket's lock configuration: when it was made with locks, changed, or removed. */
  | {
      readonly what: 'configuration' | 'bucket removed'
      readonly bucketId: string
      readonly before: ConfigurationShown | null
      readonly after: ConfigurationShown | null
    }
  | LockChange
  | (OfVersion & { readonly what: 'removed'; readonly before: LockShown; readonly bypass: true })
  | (OfVersion & {
      readonly what: 'delete refused' | 'retention refused'
      readonly reason: LockReason
      /** So many requests of the same caller met the same refusal at once; the request named is the first. */
      readonly times?: number
    })

  /** Somebody said that the clock is right: the time by which locks end went from one to the other. */
  | { readonly what: 'clock confirmed'; readonly before: LockTimeShown; readonly after: LockTimeShown }

  /** To disable a named key is to delete what it wraps, until it is enabled again. */
  | { readonly what: 'key disabled' | 'key enabled'; readonly keyName: string }
  /** Of the keyring's own keys, or of one name. What was sealed before stays as it is. */
  | {
      readonly what: 'key rotated'
      readonly of: 'service' | 'storage' | 'named'
      readonly keyName?: string
      readonly version: number
    }
  /** Somebody began to have all content keys wrapped by these versions of the keyring's own keys. */
  | { readonly what: 'keys rewrapped'; readonly service: number; readonly named: number }

export interface LockTimeShown {
  readonly lockTime: string
}

export interface OfVersion {
  readonly key: string
  readonly versionId: string
}

/** `created`: a version was made with a lock that the request asked for. */
export interface LockChange extends OfVersion {
  readonly what: 'created' | 'hold' | 'retention'
  readonly before: LockShown | null
  readonly after: LockShown
  /** Only the right to bypass governance made it possible. */
  readonly bypass?: true
}

/** Whether it made the lock of a version what it is. */
export const changesVersion = <N extends LedgerNote>(note: N): note is N & LockChange =>
  note.what === 'created' || note.what === 'hold' || note.what === 'retention'

/** The end of a bucket's chain, signed: so many entries, the last of which has this hash. */
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

/** An entry is kept as the very text that was hashed. */
export const ledgerEntryFormat = format<string>('R1', text)

/** Says by its key which entries changed the lock of a version. */
export const ledgerIndexFormat = format<object>('I1', struct<object>({}))
