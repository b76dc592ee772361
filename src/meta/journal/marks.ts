/**
 * Detects that a program version without a second copy changed the metadata. Each owner of the folder leaves the same
 * mark in both at its start and end, in the copy first. If the engine still has the mark that the copy saw last, and
 * had another owner since, it is the same engine and the changes were intended. A file restored from an older state has
 * an older mark, or its own owner.
 */
import type { Disk } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Random } from '../../lib/random.ts'
import { DamagedRecord, type JournaledEngine } from '../meta.ts'
import { deletionNoteKey, noteValue, readNote } from './deletion-notes.ts'
import { type CopyFiles, filesIn, lastGeneration, markPath, unjournaledMarkerPath } from './files.ts'

/** A note without a deletion: no process has this writer id and no commit this number. */
export const MARK_KEY: Buffer = deletionNoteKey(0, Buffer.alloc(WRITER_BYTES), 0)
const INCARNATION_BYTES = 8

interface Mark {
  /** Incarnation of the owner that left it. */
  readonly incarnation: number
  readonly name: string
}

interface GenerationMark {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly random: Random
  readonly generation: number
  readonly durability: 'fsync' | 'os'
}

export async function leaveMark(
  { engine, disk, folder, random, generation, durability }: GenerationMark,
  incarnation: number,
): Promise<void> {
  const before = (await filesIn(disk, folder)).marks
  const name = random.bytes(WRITER_BYTES)
  await (await disk.open(markPath(folder, generation, name), 'create')).close()
  for (const { path } of before) await disk.remove(path)
  if (durability === 'fsync') await disk.syncFolder(folder)
  const content = Buffer.concat([Buffer.alloc(INCARNATION_BYTES), name])
  content.writeDoubleBE(incarnation, 0)
  const value = noteValue(0, [{ key: content, value: undefined }])
  await engine.commit({ checks: [], writes: [{ key: MARK_KEY, value }] })
}

async function markIn(engine: JournaledEngine): Promise<Mark | undefined> {
  const entry = await engine.get(MARK_KEY)
  const content = entry && readNote(entry).keys[0]
  return content && { incarnation: content.readDoubleBE(0), name: content.toString('hex', INCARNATION_BYTES) }
}

/**
 * Whether the engine had an owner since that left no mark; `incarnation` is that of its last owner. False in doubt:
 * then every difference is reported as usual.
 */
export async function hasUnjournaledChanges(
  engine: JournaledEngine,
  incarnation: number,
  files: CopyFiles,
): Promise<boolean> {
  const last = files.marks.at(-1)
  // Known losses must not be taken for deletions.
  if (last === undefined || files.hadFindings) return false
  // A later generation kept journals without leaving a mark: changes they do not contain did not happen.
  if (last.generation !== lastGeneration(files)) return false
  try {
    const mark = await markIn(engine)
    return mark !== undefined && mark.name === last.name && incarnation > mark.incarnation
  } catch (error) {
    if (error instanceof DamagedRecord) return false
    throw error
  }
}

/**
 * Records the bypass until two snapshots have been made: until then the copy may be outdated for earlier generations.
 */
export async function recordUnjournaledChanges(
  disk: Disk,
  folder: string,
  generation: number,
  files: CopyFiles,
): Promise<void> {
  const path = unjournaledMarkerPath(folder, generation)
  if (files.bypassMarkers.includes(path)) return
  await (await disk.open(path, 'create')).close()
  await disk.syncFolder(folder)
}
