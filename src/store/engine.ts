import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import type { Readers } from './readers.ts'

/** What every part of the store works with. Handed down from the composition; nobody reaches for a global. */
export interface Engine {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly keyring: Keyring
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  readonly readers: Readers
  /** Ids (hex) of bytes and pages that this process has written and not named yet: no sweep touches them. */
  readonly drafts: Set<string>
}
