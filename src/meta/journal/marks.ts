/**
 * Whether somebody has worked on the metadata without their second copy: a version of the program that knows of none.
 * Each owner of the folder leaves the same mark in both when it begins and when it ends, the copy first. If the engine
 * still has the very mark that the copy saw last, and another owner since, then it is the engine that the copy left,
 * and what has changed was changed on purpose. An older file that was put back has an older mark, or its own owner.
 */
import type { Disk } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { Random } from '../../lib/random.ts'
import { DamagedRecord, type JournaledEngine } from '../meta.ts'
import { deletionNoteKey, noteValue, readNote } from './deletion-notes.ts'
import { type CopyFiles, filesIn, lastGeneration, leftOutPath, markPath } from './files.ts'

/** A note of nobody: no process has this name and no commit this number, so that it tells of no deletion. */
export const MARK_KEY: Buffer = deletionNoteKey(0, Buffer.alloc(WRITER_BYTES), 0)
const EPOCH_BYTES = 8

interface Mark {
  /** Of the owner that left it. */
  readonly epoch: number
  readonly name: string
}

export interface GenerationMark {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly random: Random
  readonly generation: number
  readonly durability: 'fsync' | 'os'
}

export async function leaveMark(
  { engine, disk, folder, random, generation, durability }: GenerationMark,
  epoch: number,
): Promise<void> {
  const before = (await filesIn(disk, folder)).marks
  const name = random.bytes(WRITER_BYTES)
  await (await disk.open(markPath(folder, generation, name), 'create')).close()
  for (const { path } of before) await disk.remove(path)
  if (durability === 'fsync') await disk.syncFolder(folder)
  const said = Buffer.concat([Buffer.alloc(EPOCH_BYTES), name])
  said.writeDoubleBE(epoch, 0)
  const value = noteValue(0, [{ key: said, value: undefined }])
  await engine.commit({ checks: [], writes: [{ key: MARK_KEY, value }] })
}

async function markIn(engine: JournaledEngine): Promise<Mark | undefined> {
  const entry = await engine.get(MARK_KEY)
  const said = entry && readNote(entry).keys[0]
  return said && { epoch: said.readDoubleBE(0), name: said.toString('hex', EPOCH_BYTES) }
}

/**
 * Whether the engine had an owner since that left no mark; `epoch` is that of its last one. When in doubt it is false:
 * then whatever is not as the copy says is told, as always.
 */
export async function wasBypassed(engine: JournaledEngine, epoch: number, files: CopyFiles): Promise<boolean> {
  const last = files.marks.at(-1)
  // What is known to be lost must not pass for deleted.
  if (last === undefined || files.hadFindings) return false
  // Somebody has kept journals since, and left no mark: what those do not tell did not happen.
  if (last.generation !== lastGeneration(files)) return false
  try {
    const mark = await markIn(engine)
    return mark !== undefined && mark.name === last.name && epoch > mark.epoch
  } catch (error) {
    if (error instanceof DamagedRecord) return false
    throw error
  }
}

/** Until two snapshots have been made since: what the copy says of generations before this one may be outdated. */
export async function recordBypass(disk: Disk, folder: string, generation: number, files: CopyFiles): Promise<void> {
  const path = leftOutPath(folder, generation)
  if (files.leftOut.includes(path)) return
  await (await disk.open(path, 'create')).close()
  await disk.syncFolder(folder)
}
