/**
 * An index of buckets by owner, so that listing an account's buckets does not scan all others. It is updated in the
 * commit that creates or removes a bucket. Folders older than the index get it in batches
 * (`maintenance/index-buckets.ts`); until a record marks it complete, listings scan the buckets themselves.
 */
import { keySuccessor } from '../../lib/bytes.ts'
import { format, uint } from '../../lib/codec.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { keyRanges, parseRecordKey, recordKey } from '../commit/record-keys.ts'
import { type Transaction, type TransactionContext, transact } from '../commit/transaction.ts'

/** The bucket fields that ListBuckets shows. */
export type OwnedBucket = Pick<Bucket, 'name' | 'createdAt'>

export const ownedFormat = format<number>('W1', uint)
const indexedFormat = format<number>('Y1', uint)

export interface OwnedPage {
  readonly owner: string
  readonly prefix: string
  /** Only names greater than this one. */
  readonly after: string | undefined
  readonly limit: number
}

const SCAN_MAX = 1000
/** Each bucket costs one check and one write, which keeps a batch well within a commit's limits. */
const BATCH_SIZE = 100

type Owned = Pick<Bucket, 'name' | 'owner' | 'createdAt'>

export function indexBucketOwner(tx: Transaction, { owner, name, createdAt }: Owned): void {
  tx.put(recordKey.owned(owner, name), ownedFormat.encode(createdAt))
}

export function unindexBucketOwner(tx: Transaction, { owner, name }: Owned): void {
  tx.remove(recordKey.owned(owner, name))
}

export const isIndexed = async ({ meta }: Pick<TransactionContext, 'meta'>): Promise<boolean> =>
  (await meta.get(recordKey.indexed())) !== undefined

/**
 * Indexes one batch of buckets from `start` on and resolves to the next start. After the last batch the index is marked
 * complete: buckets created meanwhile were indexed by their own commits.
 */
export function indexSomeBuckets(
  context: TransactionContext,
  start = keyRanges.buckets().start,
): Promise<Buffer | undefined> {
  return transact(context, async tx => {
    const page = await context.meta.scan({ start, end: keyRanges.buckets().end }, BATCH_SIZE)
    for (const entry of page) {
      tx.check(entry)
      indexBucketOwner(tx, bucketFormat.decode(entry.value))
    }
    if (page.length === BATCH_SIZE) return keySuccessor(page.at(-1)!.key)
    tx.put(recordKey.indexed(), indexedFormat.encode(1))
    return undefined
  })
}

/** One page of an owner's buckets in name order, and whether more follow. */
export async function ownedPage(
  engine: Pick<TransactionContext, 'meta'>,
  { owner, prefix, after, limit }: OwnedPage,
): Promise<{ buckets: OwnedBucket[]; more: boolean }> {
  const source = (await isIndexed(engine)) ? byIndex(engine, owner) : byBuckets(engine, owner)
  const buckets: OwnedBucket[] = []
  const from = after === undefined || after < prefix ? { name: prefix, isPast: false } : { name: after, isPast: true }
  for await (const bucket of source(from)) {
    if (!bucket.name.startsWith(prefix)) break
    if (buckets.length === limit) return { buckets, more: true }
    buckets.push(bucket)
  }
  return { buckets, more: false }
}

/** A start position: at this name, or just after it. */
interface From {
  readonly name: string
  readonly isPast: boolean
}

type Source = (from: From) => AsyncGenerator<OwnedBucket>

const startAt = (address: Buffer, { isPast }: From): Buffer => (isPast ? keySuccessor(address) : address)

const byIndex = ({ meta }: Pick<TransactionContext, 'meta'>, owner: string): Source =>
  async function* (from) {
    const { end } = keyRanges.owned(owner)
    for (let start = startAt(recordKey.owned(owner, from.name), from); ; ) {
      const page = await meta.scan({ start, end }, SCAN_MAX)
      for (const { key, value } of page) yield { name: parseRecordKey(key).name, createdAt: ownedFormat.decode(value) }
      if (page.length < SCAN_MAX) return
      start = keySuccessor(page.at(-1)!.key)
    }
  }

const byBuckets = ({ meta }: Pick<TransactionContext, 'meta'>, owner: string): Source =>
  async function* (from) {
    const { end } = keyRanges.buckets()
    for (let start = startAt(recordKey.bucket(from.name), from); ; ) {
      const page = await meta.scan({ start, end }, SCAN_MAX)
      for (const { value } of page) {
        const bucket = bucketFormat.decode(value)
        if (bucket.owner === owner) yield bucket
      }
      if (page.length < SCAN_MAX) return
      start = keySuccessor(page.at(-1)!.key)
    }
  }
