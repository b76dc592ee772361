/**
 * Recounts the usage of a bucket in use. Its records and counters are read from one snapshot and so are consistent; the
 * new base makes them equal, and counts added by later commits are kept.
 */
import { keySuccessor } from '../../lib/bytes.ts'
import type { KeyRange, Snapshot } from '../../meta/meta.ts'
import { bucketFormat } from '../../model/bucket.ts'
import { partFormat, uploadFormat } from '../../model/upload.ts'
import { addCounters, addDelta, noUsage, type UsageDelta, usageBaseFormat, zeroCounters } from '../../model/usage.ts'
import { versionFormat } from '../../model/version-record.ts'
import { keyRanges, recordKey } from '../commit/record-keys.ts'
import { transact } from '../commit/transaction.ts'
import type { StoreContext } from '../store-context.ts'
import { readUsage } from './usage.ts'

const PAGE = 500
const TRIES_MAX = 10

/** Calls `each` for every record of a range and yields after every page. */
async function walk(
  snapshot: Pick<Snapshot, 'scan'>,
  range: KeyRange,
  each: (value: Buffer) => Promise<void> | void,
): Promise<void> {
  for (let { start } = range; ; ) {
    const page = await snapshot.scan({ start, end: range.end }, PAGE)
    for (const { value } of page) await each(value)
    if (page.length < PAGE) return
    start = keySuccessor(page.at(-1)!.key)
    await new Promise(resolve => setImmediate(resolve))
  }
}

async function countRecords(snapshot: Snapshot, bucket: string): Promise<UsageDelta> {
  const usage = noUsage()
  await walk(snapshot, keyRanges.current(bucket), value => {
    const { size } = versionFormat.decode(value)
    usage.objects++
    usage.versions++
    usage.bytes += size
    usage.versionBytes += size
  })
  await walk(snapshot, keyRanges.older(bucket), value => {
    const { marker, size } = versionFormat.decode(value)
    if (marker) usage.deleteMarkers++
    else {
      usage.versions++
      usage.versionBytes += size
    }
  })
  await walk(snapshot, keyRanges.uploads(bucket), async upload => {
    usage.uploads++
    await walk(snapshot, keyRanges.parts(uploadFormat.decode(upload).id), part => {
      usage.uploadBytes += partFormat.decode(part).size
    })
  })
  return usage
}

/** False when the bucket is gone. */
export async function recount(
  context: StoreContext,
  snapshotOf: () => Promise<Snapshot>,
  name: string,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const outcome = await recountOnce(context, await snapshotOf(), name)
    if (outcome !== 'again') return outcome === 'counted'
  }
  throw new Error(`the counters of bucket ${name} changed during each of ${TRIES_MAX} attempts`)
}

async function recountOnce(
  context: StoreContext,
  snapshot: Snapshot,
  name: string,
): Promise<'counted' | 'gone' | 'again'> {
  let read: Awaited<ReturnType<typeof readAll>>
  try {
    read = await readAll(snapshot, name)
  } finally {
    await snapshot.end()
  }
  if (read === undefined) return 'gone'
  const { id, counted, recorded } = read
  const counters = zeroCounters()
  addDelta(counters, counted, 1)
  addCounters(counters, recorded.added, -1)
  return transact(context, async tx => {
    const bucket = await tx.get(recordKey.bucket(name))
    if (bucket === undefined || bucketFormat.decode(bucket.value).id !== id) return 'gone'
    const base = await tx.get(recordKey.usageBase(id))
    // Slots were folded into the base meanwhile, so the sums of the snapshot no longer apply.
    if (base?.stamp !== recorded.base?.entry.stamp) return 'again'
    tx.put(recordKey.usageBase(id), usageBaseFormat.encode({ incarnation: context.usage.incarnation, counters }))
    return 'counted'
  })
}

async function readAll(snapshot: Snapshot, name: string) {
  const [entry] = await snapshot.scan({ start: recordKey.bucket(name), end: keySuccessor(recordKey.bucket(name)) }, 1)
  if (entry === undefined) return undefined
  const { id } = bucketFormat.decode(entry.value)
  const recorded = await readUsage((range, limit) => snapshot.scan(range, limit), id)
  return { id, recorded, counted: await countRecords(snapshot, name) }
}
