import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import type { Actor } from '../model/ledger.ts'
import type { LifecycleRule } from '../rules/lifecycle.ts'
import type { LostRecords } from './commit/lost-records.ts'
import type { TransactionDeadline } from './commit/transaction-deadline.ts'
import type { KeyChanges } from './keys/key-changes.ts'
import type { LedgerGroupCommit } from './ledger/ledger-group-commit.ts'
import type { RefusalEntries } from './ledger/refusal-entries.ts'
import type { LockClock } from './objects/lock-clock.ts'
import type { EpochGuard, EpochTracker } from './reclaim/epoch-tracker.ts'
import type { ReclamationBarrier } from './reclaim/reclamation-barrier.ts'
import type { ReclamationLock } from './reclaim/reclamation-lock.ts'
import type { UsageCounters } from './usage/usage-counters.ts'

export type RecordSpace = Pick<Blobs, 'ensureSpace'>

/** Dependencies shared by every part of the store, passed down from composition instead of reached through globals. */
export interface StoreContext {
  readonly meta: Meta
  readonly blobs: Blobs
  /** The space for records, where they do not share a disk with the blobs. */
  readonly recordSpace: RecordSpace | undefined
  readonly keyring: Keyring
  readonly clock: Clock
  /** The clock that decides when retention ends. */
  readonly lockClock: LockClock
  readonly random: Random
  readonly ids: Ids
  readonly readers: EpochTracker
  /** The guard readers enter through: the tracker itself, or the pin of a request that has already read records. */
  readonly readerGuard: EpochGuard
  /** One entry per body that is being written or is written but not yet named. */
  readonly drafts: EpochTracker
  readonly reclamation: ReclamationBarrier
  readonly reclamationLock: ReclamationLock
  /** Records known to be lost; `meta` refuses operations that need them. */
  readonly losses: LostRecords
  /** Serializes and groups the ledger appends of this process. */
  readonly ledgerCommits: LedgerGroupCommit
  readonly refusals: RefusalEntries
  readonly keyChanges: KeyChanges
  readonly usage: UsageCounters
  /** Present for a request that may write, on an engine behind a network. */
  readonly deadline?: TransactionDeadline | undefined
  /** Parses stored lifecycle rules; cached, since every read and write of an object needs them. */
  readonly lifecycleRules: (text: string) => readonly LifecycleRule[]
  /** The actor on whose behalf changes are made, as recorded in the ledger. */
  readonly actor: Actor
}
