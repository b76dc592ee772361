/**
 * Which buckets an account owns, beside the buckets themselves, so that listing a few does not mean passing by
 * everybody's. Written in the commit that makes or removes the bucket. A folder from before this index gets it piece
 * by piece (`workers/index-buckets.ts`); until a record says that it is whole, the buckets themselves are asked.
 */
import { keySuccessor } from '../../lib/bytes.ts'
import { format, uint } from '../../lib/codec.ts'
import { type Bucket, bucketFormat } from '../../model/bucket.ts'
import { keyRanges, parseRecordKey, recordKey } from '../commit/record-keys.ts'
import { type Transaction, type TransactionContext, transact } from '../commit/transaction.ts'

/** What a list of buckets shows of each. */
export type OwnedBucket = Pick<Bucket, 'name' | 'createdAt'>

export const ownedFormat = format<number>('W1', uint)
export const indexedFormat = format<number>('Y1', uint)

export interface OwnedPage {
  readonly owner: string
  readonly prefix: string
  /** Names behind this one. */
  readonly after: string | undefined
  readonly limit: number
}

const SCAN_MAX = 1000
/** A check and a write for each: well within what one commit may hold. */
const NOTED_AT_ONCE = 100

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
 * Notes the owners of some buckets from `start` on. Resolves to where to go on; at the end the index is said to be
 * whole, since whatever was made meanwhile was noted by whoever made it.
 */
export function indexSomeBuckets(
  context: TransactionContext,
  start = keyRanges.buckets().start,
): Promise<Buffer | undefined> {
  return transact(context, async tx => {
    const page = await context.meta.scan({ start, end: keyRanges.buckets().end }, NOTED_AT_ONCE)
    for (const entry of page) {
      tx.relyOn(entry)
      indexBucketOwner(tx, bucketFormat.decode(entry.value))
    }
    if (page.length === NOTED_AT_ONCE) return keySuccessor(page.at(-1)!.key)
    tx.put(recordKey.indexed(), indexedFormat.encode(1))
    return undefined
  })
}

/** A page of an owner's buckets in order of their names, and whether there are more behind it. */
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

/** Where to begin: at this name, or just past it. */
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
