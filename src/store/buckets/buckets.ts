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
import { expandCanned } from '../../rules/access/acl.ts'
import { configurationForLedger } from '../../rules/ledger.ts'
import { checkBucketName } from '../../rules/naming.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { bucketForRead, bucketForWrite, decodeBucket, findBucket, transact } from '../commit/transaction.ts'
import type { LedgerAttempt } from '../ledger/ledger-group-commit.ts'
import type { StoreContext } from '../store-context.ts'
import { discardUpload } from '../uploads/upload-record.ts'
import type { Uploads } from '../uploads/uploads.ts'
import {
  indexBucketOwner,
  type OwnedBucket,
  type OwnedPage,
  ownedPage,
  unindexBucketOwner,
} from './bucket-owner-index.ts'
import { documentFormat } from './documents.ts'

const PAGE = 1000
const REMOVE_TRIES_MAX = 10
/** Aborted by the commit that removes their bucket. Each costs a check and two writes. */
const UPLOADS_PER_COMMIT = 50

interface NewBucket {
  readonly name: string
  readonly owner: string
  /** Enables legal holds and retention, and turns versioning on from the start. */
  readonly lockEnabled: boolean
  /** Those of a private bucket if omitted. */
  readonly grants?: readonly Grant[]
  readonly ownership?: Ownership | undefined
  /** Documents the bucket is created with, as [name, text]. */
  readonly documents?: readonly (readonly [string, string])[]
}

/** Settings that `configure` may change; versioning and object lock have their own rules. */
type BucketSettings = Pick<Bucket, 'grants' | 'ownership' | 'publicAccessBlock' | 'requesterPays'>

export class Buckets {
  readonly #context: StoreContext
  readonly #uploads: Uploads

  constructor(context: StoreContext, uploads: Uploads) {
    this.#context = context
    this.#uploads = uploads
  }

  create(request: NewBucket): Promise<Bucket> {
    checkBucketName(request.name)
    const { documents = [] } = request
    return this.#withLedger(request.name, request.lockEnabled, async (tx, note) => {
      const entry = await tx.get(recordKey.bucket(request.name))
      if (entry !== undefined) {
        const { owner } = decodeBucket(entry)
        throw new Fault(owner === request.owner ? 'BucketAlreadyOwnedByYou' : 'BucketAlreadyExists', {
          BucketName: request.name,
        })
      }
      const bucket: Bucket = {
        name: request.name,
        id: this.#context.random.bytes(8).toString('hex'),
        owner: request.owner,
        createdAt: this.#context.clock.now(),
        versioning: request.lockEnabled ? 'on' : 'off',
        lockEnabled: request.lockEnabled,
        defaultRetention: undefined,
        grants: request.grants ?? expandCanned('private', { owner: request.owner, bucketOwner: request.owner }),
        ownership: request.ownership,
        publicAccessBlock: undefined,
        requesterPays: false,
        documents: documents.map(([document]) => document).sort(),
        closing: false,
      }
      tx.put(recordKey.bucket(request.name), bucketFormat.encode(bucket))
      for (const [document, text] of documents)
        tx.put(recordKey.document(request.name, document), documentFormat.encode(text))
      indexBucketOwner(tx, bucket)
      const base = { incarnation: this.#context.usage.incarnation, counters: zeroCounters() }
      tx.put(recordKey.usageBase(bucket.id), usageBaseFormat.encode(base))
      const after = configurationForLedger(bucket)
      if (request.lockEnabled) note({ what: 'configuration', bucketId: bucket.id, before: null, after })
      return bucket
    })
  }

  async get(name: string): Promise<Bucket> {
    return this.find(name)
  }

  /** Like `get`, but synchronous where the engine has the record in memory. */
  find(name: string): MaybePromise<Bucket> {
    return findBucket(this.#context.meta, name)
  }

  /** Buckets in name order: all of them, or those of one owner. */
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

  /** One page of an owner's buckets in name order, and whether more follow. */
  page(request: OwnedPage): Promise<{ buckets: OwnedBucket[]; more: boolean }> {
    return ownedPage(this.#context, request)
  }

  /**
   * P9. Versioning can be enabled and suspended but never turned off again, and a bucket with object lock keeps it on.
   */
  setVersioning(name: string, versioning: Exclude<Versioning, 'off'>): Promise<void> {
    return this.#change(name, bucket => {
      if (bucket.lockEnabled && versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      return { ...bucket, versioning }
    })
  }

  /** Enables object lock permanently and sets the default retention of new versions. */
  setLock(name: string, defaultRetention: DefaultRetention | undefined): Promise<void> {
    return this.#withLedger(name, true, async (tx, note) => {
      const bucket = await bucketForWrite(tx, name)
      if (bucket.versioning !== 'on') throw new Fault('InvalidBucketState', { BucketName: name })
      const changed = { ...bucket, lockEnabled: true, defaultRetention }
      tx.put(recordKey.bucket(name), bucketFormat.encode(changed))
      const [before, after] = [configurationForLedger(bucket), configurationForLedger(changed)]
      if (!isDeepStrictEqual(before, after)) note({ what: 'configuration', bucketId: bucket.id, before, after })
    })
  }

  /** Changes settings that are valid in any state; `change` rejects combinations that are not. */
  configure(name: string, change: (bucket: Bucket) => Partial<BucketSettings>): Promise<void> {
    return this.#change(name, bucket => ({ ...bucket, ...change(bucket) }))
  }

  /** Runs an attempt that may change lock configuration, with its ledger entry in the same commit. */
  async #withLedger<T>(bucket: string, concernsLocks: boolean, attempt: LedgerAttempt<T>): Promise<T> {
    const context = this.#context
    if (!concernsLocks) return transact(context, tx => attempt(tx, () => {}))
    // P19. The clock mark must be stored before the first lock can exist.
    await context.lockClock.now()
    return context.ledgerCommits.transact(context, bucket, attempt)
  }

  #change(name: string, change: (bucket: Bucket) => Bucket): Promise<void> {
    return transact(this.#context, async tx => {
      const bucket = await bucketForWrite(tx, name)
      tx.put(recordKey.bucket(name), bucketFormat.encode(change(bucket)))
    })
  }

  /**
   * P10. Removes an empty bucket. The bucket is first marked as closing: writers that read it earlier fail their check,
   * and later writers clear the mark. If the mark is still set after the emptiness check, nothing was added meanwhile.
   */
  async remove(name: string): Promise<void> {
    for (let tries = 0; tries < REMOVE_TRIES_MAX; tries++) {
      await transact(this.#context, async tx => {
        const bucket = await bucketForRead(tx, name)
        tx.put(recordKey.bucket(name), bucketFormat.encode({ ...bucket, closing: true }))
      })
      const outcome = await this.#removeIfClosing(name)
      if (outcome === 'removed') return
      if (outcome === 'many uploads') await this.#uploads.abortAll(name)
      if (outcome === 'full') {
        await this.#reopen(name)
        throw new Fault('BucketNotEmpty', { BucketName: name })
      }
    }
    throw new Fault('OperationAborted')
  }

  /** Uploads in progress end in the same commit: a bucket that is not removed after all keeps them. */
  #removeIfClosing(name: string): Promise<'removed' | 'full' | 'reopened' | 'many uploads'> {
    return this.#withLedger(name, true, async (tx, note) => {
      const bucket = await bucketForRead(tx, name)
      if (!bucket.closing) return 'reopened'
      if (await this.#holdsObjects(name)) return 'full'
      const uploads = await this.#context.meta.scan(keyRanges.uploads(name), UPLOADS_PER_COMMIT + 1)
      if (uploads.length > UPLOADS_PER_COMMIT) return 'many uploads'
      for (const upload of uploads) discardUpload(this.#context, tx, upload)
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
    return (await this.#hasRecords(keyRanges.current(name))) || (await this.#hasRecords(keyRanges.older(name)))
  }

  async #hasRecords(range: KeyRange): Promise<boolean> {
    return (await this.#context.meta.scan(range, 1)).length > 0
  }
}
