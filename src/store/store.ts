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
import { Ledger } from './ledger.ts'
import { Listing } from './listing.ts'
import { LockClock } from './lock-clock.ts'
import { NamedKeys } from './named-keys.ts'
import { Refusals } from './noting.ts'
import { Objects } from './objects.ts'
import { Tickets } from './tickets.ts'
import { Turns } from './turns.ts'
import { Uploads } from './uploads.ts'

export interface StoreParts {
  readonly meta: Meta
  readonly blobs: Blobs
  readonly keyring: Keyring
  readonly clock: Clock
  readonly random: Random
  readonly ids: Ids
  /** Other processes on the same records and bytes. */
  readonly others?: Others | undefined
}

export class Store {
  readonly engine: Engine
  readonly buckets: Buckets
  readonly documents: Documents
  readonly objects: Objects
  readonly copies: Copies
  readonly uploads: Uploads
  readonly completion: Completion
  readonly listing: Listing
  readonly ledger: Ledger
  readonly namedKeys: NamedKeys

  private constructor(engine: Engine) {
    this.engine = engine
    this.documents = new Documents(this.engine)
    this.objects = new Objects(this.engine)
    this.copies = new Copies(this.engine, this.objects)
    this.uploads = new Uploads(this.engine, this.objects)
    this.buckets = new Buckets(this.engine, this.uploads)
    this.completion = new Completion(this.engine)
    this.listing = new Listing(this.engine)
    this.ledger = new Ledger(this.engine)
    this.namedKeys = new NamedKeys(this.engine)
  }

  static open({ others = NOBODY_ELSE, ...parts }: StoreParts): Store {
    const inside = { readers: new Tickets(), drafts: new Tickets() }
    const company = new Company(inside, others)
    const locks = { lockClock: new LockClock(parts), turns: new Turns(), refusals: new Refusals(), actor: THE_SERVER }
    return new Store({ ...parts, ...inside, ...locks, company })
  }

  /** The same store for somebody's request, seen through another metadata engine: all else is shared. */
  through(meta: Meta, actor: Actor = this.engine.actor): Store {
    return new Store({ ...this.engine, meta, actor })
  }
}
