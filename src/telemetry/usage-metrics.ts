/**
 * Usage metrics of buckets and accounts. Totals are always reported. Only the largest buckets and accounts have series
 * of their own, since clients choose the names and the number of series must stay bounded.
 */
import { USAGE_FIELDS, type Usage, type UsageField } from '../model/usage.ts'
import type { StoreContext } from '../store/store-context.ts'
import { addUsage, isUsageDamaged } from '../store/usage/usage.ts'
import { accountUsage, type BucketUsage, bucketUsage } from '../store/usage/usage-report.ts'
import { type FamilyName, labelled, type Sample } from './families.ts'

/** How many buckets, and how many accounts, have series of their own: those with the most bytes. */
export const LABELLED_MAX = 100
/** Maximum age of a sample. */
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
type AccountOf = (canonicalId: string) => Promise<string | undefined>

export class UsageMetrics {
  readonly #context: StoreContext
  readonly #accountOf: AccountOf
  #samples: Promise<readonly Sample[]> | undefined
  #sampledAt = Number.NEGATIVE_INFINITY

  constructor(context: StoreContext, accountOf: AccountOf) {
    this.#context = context
    this.#accountOf = accountOf
  }

  /** Concurrent and closely following calls share one collection. */
  samples(): Promise<readonly Sample[]> {
    const { clock } = this.#context
    if (this.#samples !== undefined && clock.elapsed() - this.#sampledAt < FRESH_MS) return this.#samples
    this.#sampledAt = clock.elapsed()
    const collecting = this.#collect().catch((error: unknown) => {
      // Other metrics are still reported, and show the damage.
      if (isUsageDamaged(error)) return []
      throw error
    })
    this.#samples = collecting
    collecting.catch(() => {
      if (this.#samples === collecting) this.#samples = undefined
    })
    return collecting
  }

  async #collect(): Promise<readonly Sample[]> {
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
