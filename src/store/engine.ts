import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import type { Actor } from '../model/ledger.ts'
import type { Company } from './company.ts'
import type { Freeing } from './freeing.ts'
import type { KeyChanges } from './key-changes.ts'
import type { LockClock } from './lock-clock.ts'
import type { Losses } from './losses.ts'
import type { Refusals } from './noting.ts'
import type { Entrance, Tickets } from './tickets.ts'
import type { Turns } from './turns.ts'
import type { UsageCounters } from './usage-counters.ts'

/** What every part of the store works with. Handed down from the composition; nobody reaches for a global. */
export interface Engine {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly keyring: Keyring
  readonly clock: Clock
  /** The time by which locks end. */
  readonly lockClock: LockClock
  readonly random: Random
  readonly ids: Ids
  readonly readers: Tickets
  /** Where they come in: among the others, or into the stay of a request that has looked before. */
  readonly entrance: Entrance
  /** One ticket for each body that is being written, or is written and not named yet. */
  readonly drafts: Tickets
  readonly company: Company
  readonly freeing: Freeing
  /** Records that are known to be lost; `meta` refuses what needs them. */
  readonly losses: Losses
  /** Whoever appends to a ledger takes turns with the others in this process. */
  readonly turns: Turns
  readonly refusals: Refusals
  readonly keyChanges: KeyChanges
  readonly usage: UsageCounters
  /** On whose behalf everything is done; the ledger tells. */
  readonly actor: Actor
}
