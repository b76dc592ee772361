/**
 * Joins names and bytes: buckets, versions, uploads and listings over a metadata driver, blobs and keys. Each public
 * method is one atomic change by the read–decide–commit loop. It knows no HTTP and no driver.
 */
import type { Blobs } from '../blobs/blobs.ts'
import type { Keyring } from '../crypto/keyring.ts'
import type { Clock } from '../lib/clock.ts'
import type { Ids } from '../lib/ids.ts'
import type { Random } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import { type Actor, THE_SERVER } from '../model/ledger.ts'
import { Buckets } from './buckets.ts'
import { Company, NOBODY_ELSE, type Others } from './company.ts'
import { Completion } from './completion.ts'
import { Copies } from './copies.ts'
import { Documents } from './documents.ts'
import type { Engine } from './engine.ts'
import { Freeing } from './freeing.ts'
import { KeyChanges } from './key-changes.ts'
import { Ledger } from './ledger.ts'
import { Listing } from './listing.ts'
import { LockClock } from './lock-clock.ts'
import { LossGuard } from './loss-guard.ts'
import { Losses } from './losses.ts'
import { NamedKeys } from './named-keys.ts'
import { Refusals } from './noting.ts'
import { Objects } from './objects.ts'
import { type Entrance, Tickets } from './tickets.ts'
import { Turns } from './turns.ts'
import { Uploads } from './uploads.ts'
import { UsageCounters } from './usage-counters.ts'

export interface StoreParts {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly keyring: Keyring
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Of the owner of the folder, which grows with every start; zero where nobody owns one. */
  readonly epoch?: number | undefined
  /** Other processes on the same records and bytes. */
  readonly others?: Others | undefined
}

/** Its parts are made when they are first asked for: most requests need one or two of them. */
export class Store {
  readonly engine: Engine
  #buckets: Buckets | undefined
  #documents: Documents | undefined
  #objects: Objects | undefined
  #copies: Copies | undefined
  #uploads: Uploads | undefined
  #completion: Completion | undefined
  #listing: Listing | undefined
  #ledger: Ledger | undefined
  #namedKeys: NamedKeys | undefined

  private constructor(engine: Engine) {
    this.engine = engine
  }

  get buckets(): Buckets {
    this.#buckets ??= new Buckets(this.engine, this.uploads)
    return this.#buckets
  }

  get documents(): Documents {
    this.#documents ??= new Documents(this.engine)
    return this.#documents
  }

  get objects(): Objects {
    this.#objects ??= new Objects(this.engine)
    return this.#objects
  }

  get copies(): Copies {
    this.#copies ??= new Copies(this.engine, this.objects)
    return this.#copies
  }

  get uploads(): Uploads {
    this.#uploads ??= new Uploads(this.engine, this.objects)
    return this.#uploads
  }

  get completion(): Completion {
    this.#completion ??= new Completion(this.engine)
    return this.#completion
  }

  get listing(): Listing {
    this.#listing ??= new Listing(this.engine)
    return this.#listing
  }

  get ledger(): Ledger {
    this.#ledger ??= new Ledger(this.engine)
    return this.#ledger
  }

  get namedKeys(): NamedKeys {
    this.#namedKeys ??= new NamedKeys(this.engine)
    return this.#namedKeys
  }

  static open({ others = NOBODY_ELSE, epoch = 0, ...parts }: StoreParts): Store {
    const inside = { readers: new Tickets(), drafts: new Tickets() }
    const company = new Company(inside, others)
    const locks = { lockClock: new LockClock(parts), turns: new Turns(), refusals: new Refusals(), actor: THE_SERVER }
    const losses = new Losses()
    const usage = new UsageCounters({ epoch, writer: parts.ids.writer })
    const rest = { company, freeing: new Freeing(), keyChanges: new KeyChanges(), losses, usage }
    const meta = new LossGuard(parts.meta, losses)
    return new Store({ ...parts, meta, ...inside, entrance: inside.readers, ...locks, ...rest })
  }

  /** The same store for somebody's request, seen through another metadata engine: all else is shared. */
  through(meta: Meta, actor: Actor = this.engine.actor, entrance: Entrance = this.engine.readers): Store {
    return new Store({ ...this.engine, meta, actor, entrance })
  }
}
