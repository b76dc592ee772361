/**
 * Rebuilds the metadata of a folder from their second copy: built beside the existing file, checked, and then swapped
 * in. It can be interrupted at any time and run again. The old file is kept under another name.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { type FsckReport, fsck } from '../maintenance/fsck.ts'
import { FINDINGS_FILE, filesIn } from '../meta/journal/files.ts'
import { type LiveRow, newestRows } from '../meta/journal/newest-rows.ts'
import { DamagedCopy } from '../meta/journal/row-file.ts'
import { type JournalReport, newReport } from '../meta/journal/sort-journals.ts'
import { META_LIMITS, type Meta, type Write } from '../meta/meta.ts'
import { assertFolderUnowned } from '../store/commit/folder-ownership.ts'
import { KEYRING_KEY } from '../store/keys/keyring-id.ts'
import { invalidateUsageCounters } from '../store/usage/usage-mark.ts'
import { type FolderOptions, openMeta, openStore } from './compose.ts'
import { assertReadable, stampOfFolder, stampOfMeta } from './folder-format.ts'
import { assertNotMoved, REBUILDING_FILE } from './folder-markers.ts'
import { copyFolder } from './second-copy.ts'

/** There is nothing to rebuild from. */
class NoSecondCopy extends Error {}

interface RebuildResult extends Pick<FsckReport, 'problems' | 'objects' | 'held'> {
  readonly records: number
  /** Data that the copy could not restore, one line each. */
  readonly shortcomings: readonly string[]
  /** The path of the old file; undefined when there was none. */
  readonly kept: string | undefined
}

interface RebuildOptions extends Pick<FolderOptions, 'folder' | 'blobsPlace' | 'blobsFrom'> {
  readonly progress: (line: string) => void
}

export async function rebuildFolder(options: RebuildOptions): Promise<RebuildResult> {
  const { folder } = options
  assertReadable(folder, await stampOfFolder(folder))
  await assertNotMoved(folder)
  const { snapshots, journals, bypassMarkers: leftOut } = await filesIn(realDisk, copyFolder(folder))
  if (snapshots.length + journals.length === 0)
    throw new NoSecondCopy(`there is no second copy of the metadata in ${folder}`)
  await assertFolderUnowned(folder, realDisk)
  await mark(join(folder, REBUILDING_FILE))
  const fresh = join(folder, 'rebuilt')
  const shortcomings: string[] = []
  const made = await keepOnError(folder, fresh, async () => {
    // The marker keeps servers from starting; one that started just before is found here.
    await assertFolderUnowned(folder, realDisk)
    await rm(fresh, { recursive: true, force: true })
    const made = await buildMeta(options, fresh, shortcomings)
    await assertFolderUnowned(folder, realDisk)
    return made
  })
  const kept = await swap(folder, fresh)
  // The metadata now equal the copy, so no record bypasses it any more.
  for (const path of [join(copyFolder(folder), FINDINGS_FILE), ...leftOut]) await realDisk.remove(path)
  await realDisk.remove(join(folder, REBUILDING_FILE))
  await realDisk.syncFolder(folder)
  return { ...made, shortcomings, kept }
}

/** When the rebuild fails, a server may start on the existing metadata as before. */
async function keepOnError<T>(folder: string, fresh: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    await rm(fresh, { recursive: true, force: true })
    const isThere = (await realDisk.list(join(folder, 'meta'))).includes('data.mdb')
    if (isThere) await realDisk.remove(join(folder, REBUILDING_FILE))
    throw error
  }
}

async function mark(path: string): Promise<void> {
  await realDisk.remove(path)
  const file = await realDisk.open(path, 'create')
  await file.close()
  await realDisk.syncFolder(join(path, '..'))
}

/** Builds the new metadata in a folder of their own and checks them against the blobs. */
async function buildMeta(
  { folder, blobsPlace = join(folder, 'blobs'), blobsFrom, progress }: RebuildOptions,
  fresh: string,
  shortcomings: string[],
): Promise<Pick<RebuildResult, 'problems' | 'objects' | 'held' | 'records'>> {
  const meta = await openMeta({ folder: fresh })
  try {
    const records = await copyRecords(meta, copyFolder(folder), shortcomings, progress)
    assertReadable(folder, await stampOfMeta(meta))
    await invalidateUsageCounters(meta)
    progress('checking')
    const [clock, random] = [systemClock, systemRandom]
    const place = { disk: realDisk, folder, blobsPlace, blobsFrom, durability: 'fsync', strictKeys: false } as const
    const store = await openStore({ meta, clock, random, ...place })
    try {
      const { problems, objects, held } = await fsck(store.context)
      return { problems, objects, held, records }
    } finally {
      await store.context.blobs.close()
    }
  } finally {
    await meta.close()
  }
}

async function copyRecords(
  meta: Meta,
  place: string,
  shortcomings: string[],
  progress: (line: string) => void,
): Promise<number> {
  for (;;) {
    const report = newReport()
    try {
      const records = await copyRows(meta, newestRows(realDisk, place, report), progress)
      if ((await meta.get(KEYRING_KEY)) === undefined) {
        throw new NoSecondCopy('the second copy is incomplete: it does not reach back to the beginning')
      }
      shortcomings.push(...journalGaps(report), ...(await bypassGaps(place)))
      return records
    } catch (error) {
      if (!(error instanceof DamagedCopy) || (await filesIn(realDisk, place)).snapshots.length < 2) throw error
      shortcomings.push(`${error.message}; the snapshot before it was used instead`)
      // The older snapshot overwrites records of the damaged one, but not those deleted in between.
      await deleteAllRecords(meta)
      await realDisk.rename(error.path, `${error.path}.damaged`)
    }
  }
}

async function copyRows(
  meta: Meta,
  rows: AsyncIterable<readonly LiveRow[]>,
  progress: (line: string) => void,
): Promise<number> {
  let records = 0
  let writes: Write[] = []
  let bytes = 0
  const commit = async (): Promise<void> => {
    if (writes.length > 0) await meta.commit({ checks: [], writes })
    records += writes.length
    writes = []
    bytes = 0
  }
  for await (const some of rows) {
    for (const { key, value } of some) {
      const more = key.length + value.length
      if (writes.length === META_LIMITS.commitKeysMax || bytes + more > META_LIMITS.commitBytesMax) await commit()
      writes.push({ key, value })
      bytes += more
    }
    progress(`${records} records`)
  }
  await commit()
  return records
}

async function deleteAllRecords(meta: Meta): Promise<void> {
  for (;;) {
    const entries = await meta.scan({ start: Buffer.alloc(0), end: undefined }, META_LIMITS.commitKeysMax)
    if (entries.length === 0) return
    await meta.commit({ checks: [], writes: entries.map(({ key }) => ({ key, value: undefined })) })
  }
}

function journalGaps({ lost, unfinished, damaged }: JournalReport): string[] {
  return [
    ...damaged.map(path => `${path} is damaged: its records are missing`),
    ...(lost > 0 ? [`${lost} commits could not be written to a journal, and no snapshot followed`] : []),
    ...unfinished.map(path => `${path} was cut off: up to the last second before may be missing`),
  ]
}

/** Changes that no journal has, since a version without a second copy made them. */
async function bypassGaps(place: string): Promise<string[]> {
  const { snapshots, bypassedBefore = 0 } = await filesIn(realDisk, place)
  if ((snapshots[0]?.generation ?? 0) >= bypassedBefore) return []
  return [
    'a version of the program without a second copy worked on the folder, and no snapshot followed: what it \
changed is missing',
  ]
}

/** Uses renames alone; from every state in between the rebuild can be run again. */
async function swap(folder: string, fresh: string): Promise<string | undefined> {
  const meta = join(folder, 'meta')
  await realDisk.makeFolder(meta)
  const names = await realDisk.list(meta)
  const at = new Date(systemClock.now()).toISOString().replace(/[-:]|\.\d{3}/g, '')
  const kept = names.includes('data.mdb') ? join(meta, `data.mdb.damaged-${at}`) : undefined
  if (kept !== undefined) await realDisk.rename(join(meta, 'data.mdb'), kept)
  await realDisk.remove(join(meta, 'lock.mdb'))
  await realDisk.rename(join(fresh, 'meta', 'data.mdb'), join(meta, 'data.mdb'))
  await realDisk.syncFolder(meta)
  await rm(fresh, { recursive: true, force: true })
  return kept
}
