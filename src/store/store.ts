/**
 * Joins names and bytes: buckets, versions, uploads and listings on top of a metadata engine, blobs and keys. Each
 * public method is one atomic change made by the read–decide–commit loop. This layer knows neither HTTP nor a driver.
 */

import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import { ParseCache } from '../lib/parse-cache.ts'
import type { Random } from '../lib/random.ts'
import { parseXml } from '../lib/xml-reader.ts'
import type { Meta } from '../meta/meta.ts'
import { type Actor, SERVER_ACTOR } from '../model/ledger.ts'
import { readLifecycle } from '../rules/documents/lifecycle.ts'
import type { LifecycleRule } from '../rules/lifecycle.ts'
import { Buckets } from './buckets/buckets.ts'
import { Documents } from './buckets/documents.ts'
import { LostRecordGuard } from './commit/lost-record-guard.ts'
import { LostRecords } from './commit/lost-records.ts'
import type { TransactionDeadline } from './commit/transaction-deadline.ts'
import { KeyChanges } from './keys/key-changes.ts'
import { NamedKeys } from './keys/named-keys.ts'
import { Ledger } from './ledger/ledger.ts'
import { LedgerGroupCommit } from './ledger/ledger-group-commit.ts'
import { RefusalEntries } from './ledger/refusal-entries.ts'
import { Listing } from './listing/listing.ts'
import { Copies } from './objects/copies.ts'
import { LockClock } from './objects/lock-clock.ts'
import { Objects } from './objects/objects.ts'
import { type EpochGuard, EpochTracker } from './reclaim/epoch-tracker.ts'
import { NO_PEERS, type PeerProcesses, ReclamationBarrier } from './reclaim/reclamation-barrier.ts'
import { ReclamationLock } from './reclaim/reclamation-lock.ts'
import type { RecordSpace, StoreContext } from './store-context.ts'
import { Completion } from './uploads/completion.ts'
import { Uploads } from './uploads/uploads.ts'
import { UsageCounters } from './usage/usage-counters.ts'

/** Room for two documents of the greatest length, with every reference in them written out. */
const LIFECYCLE_CHARACTERS_MAX = 4 * 2 ** 20

interface StoreParts {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly recordSpace?: RecordSpace | undefined
  readonly keyring: Keyring
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Grows with every start of an owner; zero for a store without an owner. */
  readonly incarnation?: number | undefined
  /** Other processes working on the same records and blobs. */
  readonly others?: PeerProcesses | undefined
}

/** Creates its parts on first use, because most requests need only one or two of them. */
export class Store {
  readonly context: StoreContext
  #buckets: Buckets | undefined
  #documents: Documents | undefined
  #objects: Objects | undefined
  #copies: Copies | undefined
  #uploads: Uploads | undefined
  #completion: Completion | undefined
  #listing: Listing | undefined
  #ledger: Ledger | undefined
  #namedKeys: NamedKeys | undefined

  private constructor(context: StoreContext) {
    this.context = context
  }

  get buckets(): Buckets {
    this.#buckets ??= new Buckets(this.context, this.uploads)
    return this.#buckets
  }

  get documents(): Documents {
    this.#documents ??= new Documents(this.context)
    return this.#documents
  }

  get objects(): Objects {
    this.#objects ??= new Objects(this.context)
    return this.#objects
  }

  get copies(): Copies {
    this.#copies ??= new Copies(this.context, this.objects)
    return this.#copies
  }

  get uploads(): Uploads {
    this.#uploads ??= new Uploads(this.context, this.objects)
    return this.#uploads
  }

  get completion(): Completion {
    this.#completion ??= new Completion(this.context)
    return this.#completion
  }

  get listing(): Listing {
    this.#listing ??= new Listing(this.context)
    return this.#listing
  }

  get ledger(): Ledger {
    this.#ledger ??= new Ledger(this.context)
    return this.#ledger
  }

  get namedKeys(): NamedKeys {
    this.#namedKeys ??= new NamedKeys(this.context)
    return this.#namedKeys
  }

  static open({ others = NO_PEERS, incarnation = 0, recordSpace, ...parts }: StoreParts): Store {
    const trackers = { readers: new EpochTracker(), drafts: new EpochTracker() }
    const reclamation = new ReclamationBarrier(trackers, others)
    const locks = {
      lockClock: new LockClock(parts),
      ledgerCommits: new LedgerGroupCommit(),
      refusals: new RefusalEntries(),
      actor: SERVER_ACTOR,
    }
    const losses = new LostRecords()
    const usage = new UsageCounters({ incarnation, writer: parts.ids.writer })
    const lifecycle = new ParseCache(text => readLifecycle(parseXml(text)), LIFECYCLE_CHARACTERS_MAX)
    const lifecycleRules = (text: string): readonly LifecycleRule[] => lifecycle.get(text)
    const keyChanges = new KeyChanges()
    const rest = {
      reclamation,
      reclamationLock: new ReclamationLock(() => others.holdReclamation()),
      keyChanges,
      losses,
      usage,
      lifecycleRules,
    }
    const meta = new LostRecordGuard(parts.meta, losses)
    // Every field is present from the start: a copy for a request then has the same shape, which is cheap to make.
    return new Store({
      ...parts,
      recordSpace,
      meta,
      ...trackers,
      readerGuard: trackers.readers,
      ...locks,
      ...rest,
      deadline: undefined,
    })
  }

  /** The same store as one request sees it: its own metadata view, actor and epoch guard; everything else is shared. */
  forRequest(
    meta: Meta,
    actor: Actor = this.context.actor,
    epochs: EpochGuard = this.context.readers,
    deadline?: TransactionDeadline,
  ): Store {
    return new Store({ ...this.context, meta, actor, readerGuard: epochs, deadline })
  }
}
