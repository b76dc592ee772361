/**
 * Usage of buckets and accounts, for Prometheus. Totals are always there. Buckets and accounts have series of their
 * own only as far as they are among the largest: names are made by clients, and series must stay few.
 */
import { USAGE_FIELDS, type Usage, type UsageField } from '../model/usage.ts'
import type { StoreContext } from '../store/store-context.ts'
import { addUsage, isUsageDamaged } from '../store/usage/usage.ts'
import { accountUsage, type BucketUsage, bucketUsage } from '../store/usage/usage-report.ts'
import { type FamilyName, labelled, type Sample } from './families.ts'

/** So many buckets, and so many accounts, have series of their own: those with the most bytes. */
export const LABELLED_MAX = 100
/** As old as a figure may be. */
const FRESH_MS = 5_000

type Subject = 'store' | 'bucket' | 'account'

const SUFFIXES: Readonly<Record<UsageField, string>> = {
  objects: 'objects',
  versions: 'versions',
  deleteMarkers: 'delete_markers',
  bytes: 'bytes',
  versionBytes: 'version_bytes',
  uploads: 'uploads',
  uploadBytes: 'upload_bytes',
}

const samplesOf = (subject: Subject, labels: string, usage: Usage): Sample[] =>
  USAGE_FIELDS.map(field => [`holdfast_${subject}_${SUFFIXES[field]}` as FamilyName, labels, usage[field]])

const bytesHeld = ({ versionBytes, uploadBytes }: Usage): number => versionBytes + uploadBytes

const largest = <T extends { readonly usage: Usage }>(list: readonly T[]): T[] =>
  [...list].sort((a, b) => bytesHeld(b.usage) - bytesHeld(a.usage)).slice(0, LABELLED_MAX)

/** The account that a canonical id belongs to, where it is known. */
export type AccountOf = (canonicalId: string) => Promise<string | undefined>

export class UsageMetrics {
  readonly #context: StoreContext
  readonly #accountOf: AccountOf
  #samples: Promise<readonly Sample[]> | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(context: StoreContext, accountOf: AccountOf) {
    this.#context = context
    this.#accountOf = accountOf
  }

  /** Those who ask at the same time, or soon after each other, share one look. */
  samples(): Promise<readonly Sample[]> {
    const { clock } = this.#context
    if (this.#samples !== undefined && clock.elapsed() - this.#lookedAt < FRESH_MS) return this.#samples
    this.#lookedAt = clock.elapsed()
    const looking = this.#look().catch((error: unknown) => {
      // The other measures still count, and tell of the damage.
      if (isUsageDamaged(error)) return []
      throw error
    })
    this.#samples = looking
    looking.catch(() => {
      if (this.#samples === looking) this.#samples = undefined
    })
    return looking
  }

  async #look(): Promise<readonly Sample[]> {
    const { meta } = this.#context
    const all = await bucketUsage(meta)
    const counted = all.filter((one): one is BucketUsage & { usage: Usage } => one.usage !== undefined)
    const accounts = await accountUsage(all, async owner => (await this.#accountOf(owner)) ?? owner)
    return [
      ['holdfast_buckets', '', all.length],
      ['holdfast_buckets_uncounted', '', all.length - counted.length],
      ...samplesOf('store', '', addUsage(counted.map(({ usage }) => usage))),
      ...largest(counted).flatMap(({ bucket, usage }) => samplesOf('bucket', labelled({ bucket: bucket.name }), usage)),
      ...largest(accounts).flatMap(({ accountId, usage }) =>
        samplesOf('account', labelled({ account: accountId }), usage),
      ),
    ]
  }
}
