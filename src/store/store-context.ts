import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import type { Actor } from '../model/ledger.ts'
import type { LostRecords } from './commit/lost-records.ts'
import type { KeyChanges } from './keys/key-changes.ts'
import type { LedgerGroupCommit } from './ledger/ledger-group-commit.ts'
import type { RefusalEntries } from './ledger/refusal-entries.ts'
import type { LockClock } from './objects/lock-clock.ts'
import type { EpochGuard, EpochTracker } from './reclaim/epoch-tracker.ts'
import type { ReclamationBarrier } from './reclaim/reclamation-barrier.ts'
import type { ReclamationLock } from './reclaim/reclamation-lock.ts'
import type { UsageCounters } from './usage/usage-counters.ts'

/** What every part of the store works with. Handed down from the composition; nobody reaches for a global. */
export interface StoreContext {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly keyring: Keyring
  readonly clock: Clock
  /** The time by which locks end. */
  readonly lockClock: LockClock
  readonly random: Random
  readonly ids: Ids
  readonly readers: EpochTracker
  /** Where they come in: among the others, or into the stay of a request that has looked before. */
  readonly readerEpochs: EpochGuard
  /** One ticket for each body that is being written, or is written and not named yet. */
  readonly drafts: EpochTracker
  readonly reclamation: ReclamationBarrier
  readonly reclamationLock: ReclamationLock
  /** Records that are known to be lost; `meta` refuses what needs them. */
  readonly losses: LostRecords
  /** Whoever appends to a ledger takes turns with the others in this process. */
  readonly ledgerCommits: LedgerGroupCommit
  readonly refusals: RefusalEntries
  readonly keyChanges: KeyChanges
  readonly usage: UsageCounters
  /** On whose behalf everything is done; the ledger tells. */
  readonly actor: Actor
}
