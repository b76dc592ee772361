/** Reads the usage of buckets: the base of each plus the slots of every process, as of the same time. */
import { DamagedRecord, type Entry, type KeyRange, type Meta } from '../../meta/meta.ts'
import type { Bucket } from '../../model/bucket.ts'
import { MetadataDamaged } from '../../model/faults.ts'
import {
  addCounters,
  countersFormat,
  noUsage,
  USAGE_FIELDS,
  type Usage,
  type UsageBase,
  usageBaseFormat,
  usageIn,
  zeroCounters,
} from '../../model/usage.ts'
import { keyRanges, parseUsage } from '../commit/record-keys.ts'
import { usageMark } from './usage-mark.ts'

/** Effectively unlimited: the records of a bucket must be read in one scan. */
const RECORDS_MAX = 1_000_000
const PAGE = 2000

/** The sum of one bucket's usage records. */
interface CountedUsage {
  /** Undefined for a bucket that was never counted or is gone. */
  readonly base: { readonly entry: Entry; readonly value: UsageBase } | undefined
  /** Changes since the base was counted. */
  readonly added: Buffer
  readonly total: Usage
}

export function sumUsage(entries: readonly Entry[]): CountedUsage {
  const added = zeroCounters()
  let base: CountedUsage['base']
  for (const entry of entries) {
    if (parseUsage(entry.key).writer === undefined) base = { entry, value: usageBaseFormat.decode(entry.value) }
    else addCounters(added, countersFormat.decode(entry.value), 1)
  }
  const total = Buffer.from(added)
  if (base !== undefined) addCounters(total, base.value.counters, 1)
  return { base, added, total: usageIn(total) }
}

type ScanFunction = (range: KeyRange, limit: number) => Promise<readonly Entry[]>

export const readUsage = async (scan: ScanFunction, bucketId: string): Promise<CountedUsage> =>
  sumUsage(await scan(keyRanges.usage(bucketId), RECORDS_MAX))

export async function usageOf(meta: Meta, { id }: Pick<Bucket, 'id'>): Promise<Usage | undefined> {
  const { since } = await usageMark(meta)
  const { base, total } = await readUsage((range, limit) => meta.scan(range, limit), id)
  return base !== undefined && base.value.incarnation >= since ? total : undefined
}

/** True when counters or the usage mark cannot be read; everything else may be intact. */
export const isUsageDamaged = (error: unknown): boolean =>
  error instanceof DamagedRecord || error instanceof MetadataDamaged

/** The usage records of all buckets, grouped by bucket; yields after every page. */
export async function* usageRecords(meta: Meta): AsyncGenerator<{ bucketId: string; entries: readonly Entry[] }> {
  const { end } = keyRanges.kind('U')
  let { start } = keyRanges.kind('U')
  for (let limit = PAGE; ; ) {
    const page = await meta.scan({ start, end }, limit)
    const isLast = page.length < limit
    const groups = grouped(page)
    // The last bucket may have more records, so it is read again as a whole with the next page.
    const whole = isLast ? groups : groups.slice(0, -1)
    yield* whole
    if (isLast) return
    limit = whole.length === 0 ? limit * 2 : PAGE
    start = keyRanges.usage(groups.at(-1)!.bucketId).start
    await new Promise(resolve => setImmediate(resolve))
  }
}

function grouped(entries: readonly Entry[]): { bucketId: string; entries: Entry[] }[] {
  const groups: { bucketId: string; entries: Entry[] }[] = []
  for (const entry of entries) {
    const { bucketId } = parseUsage(entry.key)
    const last = groups.at(-1)
    if (last?.bucketId === bucketId) last.entries.push(entry)
    else groups.push({ bucketId, entries: [entry] })
  }
  return groups
}

/** Usage of all buckets by id; buckets not counted yet are missing. */
export async function usageOfAll(meta: Meta): Promise<Map<string, Usage>> {
  const { since } = await usageMark(meta)
  const out = new Map<string, Usage>()
  for await (const { bucketId, entries } of usageRecords(meta)) {
    const { base, total } = sumUsage(entries)
    if (base !== undefined && base.value.incarnation >= since) out.set(bucketId, total)
  }
  return out
}

export function addUsage(usages: Iterable<Usage>): Usage {
  const sum = noUsage()
  for (const usage of usages) for (const field of USAGE_FIELDS) sum[field] += usage[field]
  return sum
}

export const usageDiffers = (one: Usage, other: Usage): boolean =>
  USAGE_FIELDS.some(field => one[field] !== other[field])

/** The fields in which two counts differ, for messages. */
export const usageDifference = (recorded: Usage, counted: Usage): string =>
  USAGE_FIELDS.filter(field => recorded[field] !== counted[field])
    .map(field => `${field} ${recorded[field]} recorded, ${counted[field]} counted`)
    .join('; ')
