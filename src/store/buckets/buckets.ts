import { isDeepStrictEqual } from 'node:util'
import { keySuccessor } from '../../lib/bytes.ts'
import type { MaybePromise } from '../../lib/maybe-promise.ts'
import type { KeyRange } from '../../meta/meta.ts'
import {
  type Bucket,
  bucketFormat,
  type DefaultRetention,
  type Ownership,
  type Versioning,
} from '../../model/bucket.ts'
import { Fault } from '../../model/faults.ts'
import type { Grant } from '../../model/grant.ts'
import { usageBaseFormat, zeroCounters } from '../../model/usage.ts'
import { configurationForLedger } from '../../rules/ledger.ts'
import { checkBucketName } from '../../rules/naming.ts'
import { decodeBucket } from '../commit/decoded-records.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { transact } from '../commit/transaction.ts'
import type { LedgerAttempt } from '../ledger/ledger-group-commit.ts'
import type { StoreContext } from '../store-context.ts'
import type { Uploads } from '../uploads/uploads.ts'
import {
  indexBucketOwner,
  type OwnedBucket,
  type OwnedPage,
  ownedPage,
  unindexBucketOwner,
} from './bucket-owner-index.ts'
import { bucketForRead, bucketForWrite, findBucket } from './bucket-record.ts'
import { documentFormat } from './documents.ts'

const PAGE = 1000
const REMOVE_TRIES_MAX = 10

export interface NewBucket {
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
export type BucketSettings = Pick<Bucket, 'grants' | 'ownership' | 'publicAccessBlock' | 'requesterPays'>

export class Buckets {
  readonly #context: StoreContext
  readonly #uploads: Uploads

  constructor(context: StoreContext, uploads: Uploads) {
    this.#context = context
    this.#uploads = uploads
  }

  create(wish: NewBucket): Promise<Bucket> {
    checkBucketName(wish.name)
    const { documents = [] } = wish
    return this.#noting(wish.name, wish.lockEnabled, async (tx, note) => {
      const entry = await tx.get(recordKey.bucket(wish.name))
      if (entry !== undefined) {
        const { owner } = decodeBucket(entry)
        throw new Fault(owner === wish.owner ? 'BucketAlreadyOwnedByYou' : 'BucketAlreadyExists', {
          BucketName: wish.name,
        })
      }
      const bucket: Bucket = {
        name: wish.name,
        id: this.#context.random.bytes(8).toString('hex'),
        owner: wish.owner,
        createdAt: this.#context.clock.now(),
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
      tx.put(recordKey.bucket(wish.name), bucketFormat.encode(bucket))
      for (const [document, text] of documents)
        tx.put(recordKey.document(wish.name, document), documentFormat.encode(text))
      indexBucketOwner(tx, bucket)
      const base = { epoch: this.#context.usage.epoch, counters: zeroCounters() }
      tx.put(recordKey.usageBase(bucket.id), usageBaseFormat.encode(base))
      const after = configurationForLedger(bucket)
      if (wish.lockEnabled) note({ what: 'configuration', bucketId: bucket.id, before: null, after })
      return bucket
    })
  }

  async get(name: string): Promise<Bucket> {
    return this.find(name)
  }

  /** The same, at once where the record is there at once. */
  find(name: string): MaybePromise<Bucket> {
    return findBucket(this.#context.meta, name)
  }

  /** Buckets in order of their names; all of them, or those of one owner. */
  async list(owner?: string): Promise<Bucket[]> {
    const out: Bucket[] = []
    const { end } = keyRanges.buckets()
    let { start } = keyRanges.buckets()
    for (;;) {
      const page = await this.#context.meta.scan({ start, end }, PAGE)
      for (const entry of page) {
        const bucket = decodeBucket(entry)
        if (owner === undefined || bucket.owner === owner) out.push(bucket)
      }
      if (page.length < PAGE) return out
      start = keySuccessor(page.at(-1)!.key)
    }
  }

  /** A page of an owner's buckets in order of their names, and whether there are more behind it. */
  page(wanted: OwnedPage): Promise<{ buckets: OwnedBucket[]; more: boolean }> {
    return ownedPage(this.#context, wanted)
  }

  /** P9. Versioning goes on and is suspended; it never goes off again, and a bucket with locks keeps it on. */
  setVersioning(name: string, versioning: Exclude<Versioning, 'off'>): Promise<void> {
    return this.#change(name, bucket => {
      if (bucket.lockEnabled && versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      return { ...bucket, versioning }
    })
  }

  /** Switches locks on, for good, and sets the retention that new versions get by default. */
  setLock(name: string, defaultRetention: DefaultRetention | undefined): Promise<void> {
    return this.#noting(name, true, async (tx, note) => {
      const bucket = await bucketForWrite(tx, name)
      if (bucket.versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      const changed = { ...bucket, lockEnabled: true, defaultRetention }
      tx.put(recordKey.bucket(name), bucketFormat.encode(changed))
      const [before, after] = [configurationForLedger(bucket), configurationForLedger(changed)]
      if (!isDeepStrictEqual(before, after)) note({ what: 'configuration', bucketId: bucket.id, before, after })
    })
  }

  /**
   * Changes settings that anything may have at any time; whether they go together, `change` says of what it is given.
   */
  configure(name: string, change: (bucket: Bucket) => Partial<BucketSettings>): Promise<void> {
    return this.#change(name, bucket => ({ ...bucket, ...change(bucket) }))
  }

  /** What concerns locks is noted in the ledger, in the same commit. */
  async #noting<T>(bucket: string, concernsLocks: boolean, attempt: LedgerAttempt<T>): Promise<T> {
    const context = this.#context
    if (!concernsLocks) return transact(context, tx => attempt(tx, () => {}))
    // P19. Before there can be a lock, it is written down how far time has got.
    await context.lockClock.now()
    return context.ledgerCommits.append(context, bucket, attempt)
  }

  #change(name: string, change: (bucket: Bucket) => Bucket): Promise<void> {
    return transact(this.#context, async tx => {
      const bucket = await bucketForWrite(tx, name)
      tx.put(recordKey.bucket(name), bucketFormat.encode(change(bucket)))
    })
  }

  /**
   * P10. Removes an empty bucket. First it is marked as closing: every writer that had read it before fails its check,
   * and every later one takes the mark back. If the mark still stands after the look, nothing came in meanwhile.
   */
  async remove(name: string): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES_MAX; tries++) {
      await transact(this.#context, async tx => {
        const bucket = await bucketForRead(tx, name)
        tx.put(recordKey.bucket(name), bucketFormat.encode({ ...bucket, closing: true }))
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
    return this.#noting(name, true, async (tx, note) => {
      const bucket = await bucketForRead(tx, name)
      if (!bucket.closing) return 'reopened'
      if (await this.#holdsObjects(name)) return 'full'
      if (await this.#isThere(keyRanges.uploads(name))) return 'reopened'
      for (const document of bucket.documents) tx.remove(recordKey.document(name, document))
      tx.remove(recordKey.bucket(name))
      unindexBucketOwner(tx, bucket)
      tx.remove(recordKey.usageBase(bucket.id))
      if (bucket.lockEnabled) {
        note({ what: 'bucket removed', bucketId: bucket.id, before: configurationForLedger(bucket), after: null })
      }
      return 'removed'
    })
  }

  #reopen(name: string): Promise<void> {
    return transact(this.#context, async tx => {
      await bucketForWrite(tx, name)
    })
  }

  async #holdsObjects(name: string): Promise<boolean> {
    return (await this.#isThere(keyRanges.current(name))) || (await this.#isThere(keyRanges.older(name)))
  }

  async #isThere(range: KeyRange): Promise<boolean> {
    return (await this.#context.meta.scan(range, 1)).length > 0
  }
}
