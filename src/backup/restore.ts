/**
 * Restores a store from a run: bytes first, then the records that name them. It can be interrupted at any time and run
 * again; blobs that have their record are not copied twice.
 */
import type { Blobs } from '../blobs/blobs.ts'
import { startsWith } from '../lib/bytes.ts'
import { META_LIMITS, type Meta, type Write } from '../meta/meta.ts'
import { type BlobRecord, blobFormat } from '../model/content.ts'
import { garbageFormat } from '../model/garbage.ts'
import { keyRanges, recordKey } from '../store/commit/record-keys.ts'
import { isServerRecord } from '../store/commit/server-records.ts'
import type { KeyAndValue } from './entries.ts'
import { type IndexEntry, indexFormat, MergeLookup, verifiedBytes } from './index-entry.ts'
import type { Manifest } from './manifest.ts'
import { DamagedBackup, type Vault } from './vault.ts'

interface RestoreTarget {
  readonly vault: Vault
  readonly manifest: Manifest
  /** The new store's metadata: empty, or as left by an earlier attempt. Fails as soon as others may change them. */
  readonly meta: Meta
  readonly blobs: Blobs
  readonly progress: (line: string) => void
}

export interface RestoreResult {
  readonly records: number
  readonly blobs: number
  readonly bytes: number
}

/** Blobs copied concurrently; short ones share a sync. */
const COPIES = 64
/** Keys and bytes of a commit; a fence adds checks to them. */
const KEYS_MAX = META_LIMITS.commitKeysMax - 16
const BYTES_MAX = META_LIMITS.commitBytesMax / 2
const BLOBS_MOVE = recordKey.blobsMove()
const BLOBS = keyRanges.kind('b').start
const GARBAGE = keyRanges.kind('g').start

/** Records about the old folder itself, which are not restored. */
function isFolderRecord([key, value]: KeyAndValue): boolean {
  if (isServerRecord(key) || key.equals(BLOBS_MOVE)) return true
  return startsWith(key, GARBAGE) && garbageFormat.decode(value).kind === 'volume'
}

export async function restoreBackup(target: RestoreTarget): Promise<RestoreResult> {
  const { vault, manifest, progress } = target
  const { run, records, index } = manifest
  const blobIndex = new MergeLookup(vault.entries(run, 'index', index.sha256))
  const done = { records: 0, blobs: 0, bytes: 0 }
  try {
    for await (const entries of vault.entries(run, 'records', records.sha256)) {
      const kept = entries.filter(entry => !isFolderRecord(entry))
      const others = kept.filter(([key]) => !startsWith(key, BLOBS))
      await commitAll(target.meta, others)
      const named = kept.filter(([key]) => startsWith(key, BLOBS))
      for (let from = 0; from < named.length; from += COPIES) {
        await commitAll(target.meta, await restoreBlobs(target, blobIndex, named.slice(from, from + COPIES), done))
      }
      done.records += kept.length
      progress(`${done.records} records, ${done.blobs} blobs, ${done.bytes} bytes`)
    }
    await blobIndex.drain()
    return done
  } finally {
    await blobIndex.close()
  }
}

/** Copies the bytes of these blobs and returns their records with the new locations. */
async function restoreBlobs(
  { vault, manifest, meta, blobs }: RestoreTarget,
  blobIndex: MergeLookup,
  entries: readonly KeyAndValue[],
  done: { blobs: number; bytes: number },
): Promise<KeyAndValue[]> {
  const copyBlob = async (
    [key, value]: KeyAndValue,
    entry: IndexEntry | undefined,
  ): Promise<KeyAndValue | undefined> => {
    if ((await meta.get(key)) !== undefined) return undefined
    const id = key.subarray(1)
    const record: BlobRecord = blobFormat.decode(value)
    if (entry === undefined) return [key, blobFormat.encode({ ...record, volume: undefined, offset: 0 })]
    // An earlier attempt may have left a file without a record.
    await blobs.remove(id, { ...entry, volume: undefined })
    const bytes = verifiedBytes(vault.blobs.read(id, entry, 0, entry.length), entry.sha256)
    const { volume, offset } = await blobs.write(id, bytes, entry.frameBytes)
    done.blobs++
    done.bytes += entry.length
    return [key, blobFormat.encode({ ...record, volume, offset })]
  }
  const damaged = new Set(manifest.damaged.map(({ id }) => id))
  const locations: (IndexEntry | undefined)[] = []
  for (const entry of entries) {
    const id = entry[0].subarray(1)
    const value = await blobIndex.find(id)
    if (value === undefined && !damaged.has(id.toString('hex'))) {
      throw new DamagedBackup(`blob ${id.toString('hex')} is not in the index of ${manifest.run}`)
    }
    locations.push(value && indexFormat.decode(value))
  }
  const records = await Promise.all(entries.map((entry, i) => copyBlob(entry, locations[i])))
  return records.filter(entry => entry !== undefined)
}

async function commitAll(meta: Meta, entries: readonly KeyAndValue[]): Promise<void> {
  let writes: Write[] = []
  let bytes = 0
  const commit = async (): Promise<void> => {
    if (writes.length > 0 && !(await meta.commit({ checks: [], writes }))) {
      throw new Error('records could not be written')
    }
    writes = []
    bytes = 0
  }
  for (const [key, value] of entries) {
    const more = key.length + value.length
    if (writes.length === KEYS_MAX || bytes + more > BYTES_MAX) await commit()
    writes.push({ key, value })
    bytes += more
  }
  await commit()
}
