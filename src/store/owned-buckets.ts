/**
 * Which buckets an account owns, beside the buckets themselves, so that listing a few does not mean passing by
 * everybody's. Written in the commit that makes or removes the bucket. A folder from before this index gets it piece
 * by piece (`workers/index-buckets.ts`); until a record says that it is whole, the buckets themselves are asked.
 */
import { justAfter } from '../lib/bytes.ts'
import { format, uint } from '../lib/codec.ts'
import { type Bucket, bucketFormat } from '../model/bucket.ts'
import { all, at, parse } from './addresses.ts'
import { type Deciding, type Decision, decide } from './decision.ts'

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

export function noteOwned(d: Decision, { owner, name, createdAt }: Owned): void {
  d.put(at.owned(owner, name), ownedFormat.encode(createdAt))
}

export function forgetOwned(d: Decision, { owner, name }: Owned): void {
  d.remove(at.owned(owner, name))
}

export const isIndexed = async ({ meta }: Pick<Deciding, 'meta'>): Promise<boolean> =>
  (await meta.get(at.indexed())) !== undefined

/**
 * Notes the owners of some buckets from `start` on. Resolves to where to go on; at the end the index is said to be
 * whole, since whatever was made meanwhile was noted by whoever made it.
 */
export function noteSome(engine: Deciding, start = all.buckets().start): Promise<Buffer | undefined> {
  return decide(engine, async d => {
    const page = await engine.meta.scan({ start, end: all.buckets().end }, NOTED_AT_ONCE)
    for (const entry of page) {
      d.relyOn(entry)
      noteOwned(d, bucketFormat.decode(entry.value))
    }
    if (page.length === NOTED_AT_ONCE) return justAfter(page.at(-1)!.key)
    d.put(at.indexed(), indexedFormat.encode(1))
    return undefined
  })
}

/** A page of an owner's buckets in order of their names, and whether there are more behind it. */
export async function ownedPage(
  engine: Pick<Deciding, 'meta'>,
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

const startAt = (address: Buffer, { isPast }: From): Buffer => (isPast ? justAfter(address) : address)

const byIndex = ({ meta }: Pick<Deciding, 'meta'>, owner: string): Source =>
  async function* (from) {
    const { end } = all.owned(owner)
    for (let start = startAt(at.owned(owner, from.name), from); ; ) {
      const page = await meta.scan({ start, end }, SCAN_MAX)
      for (const { key, value } of page) yield { name: parse(key).name, createdAt: ownedFormat.decode(value) }
      if (page.length < SCAN_MAX) return
      start = justAfter(page.at(-1)!.key)
    }
  }

const byBuckets = ({ meta }: Pick<Deciding, 'meta'>, owner: string): Source =>
  async function* (from) {
    const { end } = all.buckets()
    for (let start = startAt(at.bucket(from.name), from); ; ) {
      const page = await meta.scan({ start, end }, SCAN_MAX)
      for (const { value } of page) {
        const bucket = bucketFormat.decode(value)
        if (bucket.owner === owner) yield bucket
      }
      if (page.length < SCAN_MAX) return
      start = justAfter(page.at(-1)!.key)
    }
  }
