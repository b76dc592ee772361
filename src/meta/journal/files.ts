/** The files of the second copy. Their names describe their contents, so that most need not be opened. */
import { join } from 'node:path'
import type { Disk, DiskFile } from '../../lib/disk.ts'

const JOURNAL = /^(\d{8})-([0-9a-f]{12})-(\d{6})\.journal$/
const SNAPSHOT = /^(\d{8})-(\d{16})\.snapshot$/
const MARK = /^(\d{8})-([0-9a-f]{12})\.mark$/
const BYPASS_MARKER = /^(\d{8})\.left-out$/
/** Exists from the round that finds a loss until a round finds everything intact. */
export const FINDINGS_FILE = 'findings'
/** Left by an interrupted round. */
const UNFINISHED = /\.(new|run)$/

export interface JournalFile {
  readonly path: string
  readonly generation: number
  readonly writer: string
  readonly number: number
}

export interface SnapshotFile {
  readonly path: string
  readonly generation: number
  /** Everything up to this transaction is included. */
  readonly txn: number
}

/** The mark an owner of the folder left in both, see marks.ts. */
interface MarkFile {
  readonly path: string
  readonly generation: number
  readonly name: string
}

export interface CopyFiles {
  readonly journals: readonly JournalFile[]
  /** Newest first. */
  readonly snapshots: readonly SnapshotFile[]
  readonly unfinished: readonly string[]
  readonly marks: readonly MarkFile[]
  /** Files that record a bypass. */
  readonly bypassMarkers: readonly string[]
  /** A program version without a journal changed the metadata before this generation; undefined when none did. */
  readonly bypassedBefore: number | undefined
  readonly hadFindings: boolean
}

const padded = (value: number, digits: number): string => String(value).padStart(digits, '0')

export const journalPath = (folder: string, generation: number, writer: Buffer, number: number): string =>
  join(folder, `${padded(generation, 8)}-${writer.toString('hex')}-${padded(number, 6)}.journal`)

export const snapshotPath = (folder: string, generation: number, txn: number): string =>
  join(folder, `${padded(generation, 8)}-${padded(txn, 16)}.snapshot`)

export const markPath = (folder: string, generation: number, name: Buffer): string =>
  join(folder, `${padded(generation, 8)}-${name.toString('hex')}.mark`)

export const unjournaledMarkerPath = (folder: string, generation: number): string =>
  join(folder, `${padded(generation, 8)}.left-out`)

export async function filesIn(disk: Disk, folder: string): Promise<CopyFiles> {
  const journals: JournalFile[] = []
  const snapshots: SnapshotFile[] = []
  const unfinished: string[] = []
  const marks: MarkFile[] = []
  const bypassMarkers: string[] = []
  let bypassedBefore: number | undefined
  const names = (await disk.list(folder)).sort()
  for (const name of names) {
    const path = join(folder, name)
    const journal = JOURNAL.exec(name)
    const snapshot = SNAPSHOT.exec(name)
    const mark = MARK.exec(name)
    const bypass = BYPASS_MARKER.exec(name)
    if (journal !== null) {
      const [, generation, writer, number] = journal
      journals.push({ path, generation: Number(generation), writer: writer!, number: Number(number) })
    } else if (snapshot !== null) {
      snapshots.push({ path, generation: Number(snapshot[1]), txn: Number(snapshot[2]) })
    } else if (mark !== null) {
      marks.push({ path, generation: Number(mark[1]), name: mark[2]! })
    } else if (bypass !== null) {
      bypassMarkers.push(path)
      bypassedBefore = Number(bypass[1])
    } else if (UNFINISHED.test(name)) unfinished.push(path)
  }
  const hadFindings = names.includes(FINDINGS_FILE)
  return {
    journals,
    snapshots: snapshots.reverse(),
    unfinished,
    marks,
    bypassMarkers: bypassMarkers,
    bypassedBefore: bypassedBefore,
    hadFindings,
  }
}

/** The last generation with any file; zero when there is none. */
export function lastGeneration({ journals, snapshots }: CopyFiles): number {
  return Math.max(0, ...journals.map(({ generation }) => generation), ...snapshots.map(({ generation }) => generation))
}

/** A journal without rows is never longer. */
const ROWLESS_BYTES_MAX = 100

/** True when the copy contains any record. */
export async function hasRows(disk: Disk, { journals, snapshots }: CopyFiles): Promise<boolean> {
  if (snapshots.length > 0) return true
  for (const { path } of journals) if ((await sizeOf(disk, path)) > ROWLESS_BYTES_MAX) return true
  return false
}

export async function openIfExists(disk: Disk, path: string): Promise<DiskFile | undefined> {
  try {
    return await disk.open(path, 'read')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

export async function sizeOf(disk: Disk, path: string): Promise<number> {
  const file = await openIfExists(disk, path)
  try {
    return (await file?.size()) ?? 0
  } finally {
    await file?.close()
  }
}
