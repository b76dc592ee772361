/** Usage of buckets, computed the slow way: by reading every record of one snapshot. */
import assert from 'node:assert/strict'
import type { Entry, MetaEngine, Snapshot } from '../../src/meta/meta.ts'
import { bucketFormat } from '../../src/model/bucket.ts'
import { partFormat, uploadFormat } from '../../src/model/upload.ts'
import { noUsage, type Usage, type UsageDelta } from '../../src/model/usage.ts'
import { versionFormat } from '../../src/model/version-record.ts'
import { keyRanges, parseRecordKey } from '../../src/store/commit/record-keys.ts'
import { sumUsage } from '../../src/store/usage/usage.ts'

const EVERYTHING = 1_000_000

const of = (snapshot: Snapshot, kind: string): Promise<readonly Entry[]> =>
  snapshot.scan(keyRanges.kind(kind), EVERYTHING)

/** By bucket name. */
async function counted(snapshot: Snapshot): Promise<Map<string, UsageDelta>> {
  const out = new Map<string, UsageDelta>()
  for (const { value } of await of(snapshot, 'B')) out.set(bucketFormat.decode(value).name, noUsage())
  for (const kind of ['o', 'v']) {
    for (const { key, value } of await of(snapshot, kind)) {
      const usage = out.get(parseRecordKey(key).bucket)!
      const { marker, size } = versionFormat.decode(value)
      usage[marker ? 'deleteMarkers' : 'versions']++
      usage.versionBytes += size
      if (kind === 'o') usage.objects++
      if (kind === 'o') usage.bytes += size
    }
  }
  const uploads = new Map<string, UsageDelta>()
  for (const { value } of await of(snapshot, 'u')) {
    const { id, bucket } = uploadFormat.decode(value)
    uploads.set(id.toString('hex'), out.get(bucket)!)
    out.get(bucket)!.uploads++
  }
  for (const { key, value } of await of(snapshot, 'p')) {
    const usage = uploads.get(key.toString('hex', 1, 17))
    if (usage !== undefined) usage.uploadBytes += partFormat.decode(value).size
  }
  return out
}

async function recorded(snapshot: Snapshot): Promise<Map<string, Usage>> {
  const out = new Map<string, Usage>()
  for (const { value } of await of(snapshot, 'B')) {
    const { id, name } = bucketFormat.decode(value)
    out.set(name, sumUsage(await snapshot.scan(keyRanges.usage(id), EVERYTHING)).total)
  }
  return out
}

/** In one snapshot, under any load, the counters equal a recount. Returns that. */
export async function assertExact(meta: Pick<MetaEngine, 'snapshot'>, when: string): Promise<Map<string, Usage>> {
  const snapshot = await meta.snapshot()
  try {
    const found = await counted(snapshot)
    assert.deepEqual(Object.fromEntries(await recorded(snapshot)), Object.fromEntries(found), when)
    return found
  } finally {
    await snapshot.end()
  }
}

/** How many usage records there are, bases included. */
export async function usageRecordCount(meta: Pick<MetaEngine, 'snapshot'>): Promise<number> {
  const snapshot = await meta.snapshot()
  try {
    return (await of(snapshot, 'U')).length
  } finally {
    await snapshot.end()
  }
}
