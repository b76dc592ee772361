import { isDeepStrictEqual } from 'node:util'
import { justAfter } from '../lib/bytes.ts'
import type { Soon } from '../lib/soon.ts'
import type { KeyRange } from '../meta/meta.ts'
import { type Bucket, bucketFormat, type DefaultRetention, type Ownership, type Versioning } from '../model/bucket.ts'
import { Fault } from '../model/faults.ts'
import type { Grant } from '../model/grant.ts'
import { usageBaseFormat, zeroCounters } from '../model/usage.ts'
import { configurationShown } from '../rules/ledger.ts'
import { checkBucketName } from '../rules/naming.ts'
import { all, at } from './addresses.ts'
import { bucketForRead, bucketForWrite, findBucket } from './bucket-record.ts'
import { decide } from './decision.ts'
import { documentFormat } from './documents.ts'
import type { Engine } from './engine.ts'
import { forgetOwned, noteOwned, type OwnedBucket, type OwnedPage, ownedPage } from './owned-buckets.ts'
import { bucketIn } from './reading.ts'
import type { NotingAttempt } from './turns.ts'
import type { Uploads } from './uploads.ts'

const PAGE = 1000
const REMOVE_TRIES_MAX = 10

export interface BucketWish {
  readonly name: string
  readonly owner: string
  /** Makes holds and retention possible; versioning is then on from the start. */
  readonly lockEnabled: boolean
  readonly grants?: readonly Grant[]
  readonly ownership?: Ownership | undefined
  /** Documents that it has from the start, by name. */
  readonly documents?: readonly (readonly [string, string])[]
}

/** What `configure` may change. Versioning and locks have rules of their own. */
export type Settings = Pick<Bucket, 'grants' | 'ownership' | 'publicAccessBlock' | 'requesterPays'>

export class Buckets {
  readonly #engine: Engine
  readonly #uploads: Uploads

  constructor(engine: Engine, uploads: Uploads) {
    this.#engine = engine
    this.#uploads = uploads
  }

  create(wish: BucketWish): Promise<Bucket> {
    checkBucketName(wish.name)
    const { documents = [] } = wish
    return this.#noting(wish.name, wish.lockEnabled, async (d, note) => {
      const entry = await d.get(at.bucket(wish.name))
      if (entry !== undefined) {
        const { owner } = bucketIn(entry)
        throw new Fault(owner === wish.owner ? 'BucketAlreadyOwnedByYou' : 'BucketAlreadyExists', {
          BucketName: wish.name,
        })
      }
      const bucket: Bucket = {
        name: wish.name,
        id: this.#engine.random.bytes(8).toString('hex'),
        owner: wish.owner,
        createdAt: this.#engine.clock.now(),
        versioning: wish.lockEnabled ? 'on' : 'off',
        lockEnabled: wish.lockEnabled,
        defaultRetention: undefined,
        grants: wish.grants ?? [],
        ownership: wish.ownership,
        publicAccessBlock: undefined,
        requesterPays: false,
        documents: documents.map(([document]) => document).sort(),
        closing: false,
      }
      d.put(at.bucket(wish.name), bucketFormat.encode(bucket))
      for (const [document, text] of documents) d.put(at.document(wish.name, document), documentFormat.encode(text))
      noteOwned(d, bucket)
      const base = { epoch: this.#engine.usage.epoch, counters: zeroCounters() }
      d.put(at.usageBase(bucket.id), usageBaseFormat.encode(base))
      const after = configurationShown(bucket)
      if (wish.lockEnabled) note({ what: 'configuration', bucketId: bucket.id, before: null, after })
      return bucket
    })
  }

  async get(name: string): Promise<Bucket> {
    return this.find(name)
  }

  /** The same, at once where the record is there at once. */
  find(name: string): Soon<Bucket> {
    return findBucket(this.#engine.meta, name)
  }

  /** Buckets in order of their names; all of them, or those of one owner. */
  async list(owner?: string): Promise<Bucket[]> {
    const out: Bucket[] = []
    const { end } = all.buckets()
    let { start } = all.buckets()
    for (;;) {
      const page = await this.#engine.meta.scan({ start, end }, PAGE)
      for (const entry of page) {
        const bucket = bucketIn(entry)
        if (owner === undefined || bucket.owner === owner) out.push(bucket)
      }
      if (page.length < PAGE) return out
      start = justAfter(page.at(-1)!.key)
    }
  }

  /** A page of an owner's buckets in order of their names, and whether there are more behind it. */
  page(wanted: OwnedPage): Promise<{ buckets: OwnedBucket[]; more: boolean }> {
    return ownedPage(this.#engine, wanted)
  }

  /** Versioning goes on and is suspended; it never goes off again, and a bucket with locks keeps it on. */
  setVersioning(name: string, versioning: Exclude<Versioning, 'off'>): Promise<void> {
    return this.#change(name, bucket => {
      if (bucket.lockEnabled && versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      return { ...bucket, versioning }
    })
  }

  /** Switches locks on, for good, and sets the retention that new versions get by default. */
  setLock(name: string, defaultRetention: DefaultRetention | undefined): Promise<void> {
    return this.#noting(name, true, async (d, note) => {
      const bucket = await bucketForWrite(d, name)
      if (bucket.versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      const changed = { ...bucket, lockEnabled: true, defaultRetention }
      d.put(at.bucket(name), bucketFormat.encode(changed))
      const [before, after] = [configurationShown(bucket), configurationShown(changed)]
      if (!isDeepStrictEqual(before, after)) note({ what: 'configuration', bucketId: bucket.id, before, after })
    })
  }

  /**
   * Changes settings that anything may have at any time; whether they go together, `change` says of what it is given.
   */
  configure(name: string, change: (bucket: Bucket) => Partial<Settings>): Promise<void> {
    return this.#change(name, bucket => ({ ...bucket, ...change(bucket) }))
  }

  /** What concerns locks is noted in the ledger, in the same commit. */
  async #noting<T>(bucket: string, concernsLocks: boolean, attempt: NotingAttempt<T>): Promise<T> {
    const engine = this.#engine
    if (!concernsLocks) return decide(engine, d => attempt(d, () => {}))
    // P19. Before there can be a lock, it is written down how far time has got.
    await engine.lockClock.now()
    return engine.turns.take(engine, bucket, attempt)
  }

  #change(name: string, change: (bucket: Bucket) => Bucket): Promise<void> {
    return decide(this.#engine, async d => {
      const bucket = await bucketForWrite(d, name)
      d.put(at.bucket(name), bucketFormat.encode(change(bucket)))
    })
  }

  /**
   * Removes an empty bucket. First it is marked as closing: every writer that had read it before fails its check, and
   * every later one takes the mark back. If the mark still stands after the look, nothing came in meanwhile.
   */
  async remove(name: string): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES_MAX; tries++) {
      await decide(this.#engine, async d => {
        const bucket = await bucketForRead(d, name)
        d.put(at.bucket(name), bucketFormat.encode({ ...bucket, closing: true }))
      })
      // Uploads in progress are given up with the bucket, but only if nothing else keeps it.
      if (!(await this.#holdsObjects(name))) await this.#uploads.abortAll(name)
      const outcome = await this.#removeIfClosing(name)
      if (outcome === 'removed') return
      if (outcome === 'full') {
        await this.#reopen(name)
        throw new Fault('BucketNotEmpty', { BucketName: name })
      }
    }
    throw new Fault('OperationAborted')
  }

  #removeIfClosing(name: string): Promise<'removed' | 'full' | 'reopened'> {
    return this.#noting(name, true, async (d, note) => {
      const bucket = await bucketForRead(d, name)
      if (!bucket.closing) return 'reopened'
      if (await this.#holdsObjects(name)) return 'full'
      if (await this.#isThere(all.uploads(name))) return 'reopened'
      for (const document of bucket.documents) d.remove(at.document(name, document))
      d.remove(at.bucket(name))
      forgetOwned(d, bucket)
      d.remove(at.usageBase(bucket.id))
      if (bucket.lockEnabled) {
        note({ what: 'bucket removed', bucketId: bucket.id, before: configurationShown(bucket), after: null })
      }
      return 'removed'
    })
  }

  #reopen(name: string): Promise<void> {
    return decide(this.#engine, async d => {
      await bucketForWrite(d, name)
    })
  }

  async #holdsObjects(name: string): Promise<boolean> {
    return (await this.#isThere(all.current(name))) || (await this.#isThere(all.older(name)))
  }

  async #isThere(range: KeyRange): Promise<boolean> {
    return (await this.#engine.meta.scan(range, 1)).length > 0
  }
}
