/**
 * Journals while findings stand. No snapshot takes their place then, and a server may go on for weeks before somebody
 * makes its metadata anew. So those that are over are made into one that has of each key only what was written last:
 * no larger than the metadata, however long it takes. Of the keys that findings are about everything is kept.
 */
import { EMPTY } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { JournaledEngine } from '../meta.ts'
import { type Comparison, type CopyFindings, notesIn } from './compare.ts'
import { type DeletionNote, readNote, removeNotes } from './deletion-notes.ts'
import { filesIn, type JournalFile, journalPath, sizeOf } from './files.ts'
import { frameOf } from './frames.ts'
import { JOURNAL_TITLE, journalHead } from './journal.ts'
import { type KeyHistory, mergeHistories } from './merge.ts'
import { RowWriter, rowsOf } from './row-file.ts'
import { type CommitOrder, type CopyRow, compareOrder } from './rows.ts'
import { isLastOf, newReport, sortedRuns } from './sort-journals.ts'

/** Stays free besides, whatever a round writes. */
export const HEADROOM_BYTES = 64 * 2 ** 20
/** No process has this name. */
const NOBODY = Buffer.alloc(WRITER_BYTES)
/** Of what was overwritten, whenever that was, nothing is written down again, and so no value is needed. */
const ALL: CommitOrder = { generation: Number.POSITIVE_INFINITY, txn: 0, seq: 0 }
/** Of rows that stay where they are; it comes before every commit. */
const ELSEWHERE = -1

export interface CondenseResult {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** It would take more than there is for a while, and let nobody else write. */
export interface NoSpace {
  readonly neededBytes: number
}

export interface CondenseOptions {
  /** Less than this is not worth the reading. */
  readonly bytesMin: number
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  /** Of the processes that live. */
  readonly generation: number
  /** Every journal has told of what was committed up to here. */
  readonly told: CommitOrder
}

interface Sorted {
  readonly over: readonly JournalFile[]
  readonly others: readonly JournalFile[]
  readonly bytes: number
}

/** Undefined when there is nothing to gain, or something would be lost by it. */
export async function* condense(
  condensing: CondenseOptions,
  comparison: Comparison,
): AsyncGenerator<void, CondenseResult | NoSpace | undefined> {
  const { disk, folder, generation, told } = condensing
  const { files, findings, untold } = comparison
  // What a crash took from them is written down by now, or else their ends still tell that it is missing.
  if (!untold.isWhole) return undefined
  const sorted = await sort(condensing, comparison)
  if (sorted === undefined) return undefined
  const neededBytes = HEADROOM_BYTES + (await bytesTaken(disk, sorted))
  if ((await disk.free(folder)) < neededBytes) return { neededBytes }
  const number = 1 + Math.max(0, ...files.journals.filter(isCondensed).map(journal => journal.number))
  const path = journalPath(folder, generation, NOBODY, number)
  const since = { ...(files.snapshots.at(-1) ?? { generation: 0, txn: 0 }), seq: Number.POSITIVE_INFINITY }
  const report = newReport()
  const wanted = { since, settled: ALL, report, keeps: (key: Buffer) => findings.mayBeAbout(key) }
  const runs: string[] = []
  let writer: RowWriter | undefined
  try {
    const own = await sortedRuns(disk, folder, { ...files, journals: sorted.over }, { ...wanted, name: 'over-' })
    runs.push(...own.paths)
    const rest = { ...wanted, since: { ...since, generation: 0 }, report: newReport(), name: 'other-' }
    const kept = await sortedRuns(disk, folder, { ...files, journals: sorted.others }, rest)
    runs.push(...kept.paths)
    const elsewhere = [...files.snapshots.map(snapshot => rowsOf(disk, snapshot.path)), ...kept.runs].map(rowsElsewhere)
    const head = journalHead.encode({ title: JOURNAL_TITLE, lost: report.lost, stamp: Number.MAX_SAFE_INTEGER })
    writer = await RowWriter.create(disk, `${path}.new`, frameOf('head', head))
    for await (const some of mergeHistories([...elsewhere, ...own.runs])) {
      for (const history of some) for (const row of needed(history, findings, told)) await writer.add(row, row)
      yield
    }
    await writer.finish(true)
    const bytesAfter = writer.bytes
    writer = undefined
    await disk.rename(`${path}.new`, path)
    await disk.syncFolder(folder)
    await forget(condensing, sorted, comparison)
    for (const journal of sorted.over) await disk.remove(journal.path)
    return { bytesBefore: sorted.bytes, bytesAfter }
  } finally {
    await writer?.abandon()
    for (const run of runs) await disk.remove(run)
  }
}

/**
 * Notes of processes that no journal will be left of: nobody could say any more that they are outdated. A process that
 * lives may have begun its next file since, and its last notes be all that tells of a deletion. So files are looked at
 * anew, and only those notes go that were compared, or that say no more than a journal that is over.
 */
async function forget(
  { engine, disk, folder }: CondenseOptions,
  { over }: Sorted,
  { notes, journals: { lastSeq } }: Comparison,
): Promise<void> {
  const needless = new Set(over.map(({ path }) => path))
  const { journals } = await filesIn(disk, folder)
  const left = new Set(journals.filter(({ path }) => !needless.has(path)).map(({ writer }) => writer))
  const gone = new Set(over.map(({ writer }) => writer).filter(writer => !left.has(writer)))
  const snapshot = await engine.snapshot()
  const later = await notesIn(snapshot).finally(() => snapshot.end())
  const isTold = ({ writer, seq }: DeletionNote): boolean => seq <= (lastSeq.get(writer) ?? 0)
  const outdated = [...notes, ...later.filter(note => isTold(readNote(note)))]
  await removeNotes(
    engine,
    outdated.filter(note => gone.has(readNote(note).writer)),
  )
}

const isCondensed = ({ writer }: JournalFile): boolean => writer === NOBODY.toString('hex')

/** Which journals are over and whole; undefined when they have not doubled since the last time. */
async function sort(
  { disk, generation, bytesMin }: CondenseOptions,
  { files, journals }: Pick<Comparison, 'files' | 'journals'>,
): Promise<Sorted | undefined> {
  const { cut, damaged, lastOrder } = journals
  /** Of a process that may live: one of an earlier start is over, with or without an end. */
  const isOpen = (journal: JournalFile): boolean => journal.generation === generation && cut.includes(journal.path)
  const isLast = (journal: JournalFile): boolean => isLastOf(journal, files)
  // Until it has rows, only the files before it say which notes are outdated.
  const begun = files.journals.filter(journal => isOpen(journal) && !lastOrder.has(journal.path))
  const over = files.journals.filter(
    journal =>
      !isOpen(journal) &&
      // Those that were not read are of generations before the newest snapshot, and do not grow.
      lastOrder.has(journal.path) &&
      !damaged.includes(journal.path) &&
      (isLast(journal) || !begun.some(({ writer }) => writer === journal.writer)),
  )
  const bytes = { old: 0, young: 0 }
  for (const journal of over) bytes[isCondensed(journal) ? 'old' : 'young'] += await sizeOf(disk, journal.path)
  if (bytes.young <= Math.max(bytesMin, bytes.old)) return undefined
  return { over, others: files.journals.filter(journal => !over.includes(journal)), bytes: bytes.old + bytes.young }
}

/** At most: all of them sorted, and those that are over once more. */
async function bytesTaken(disk: Disk, { bytes, others }: Sorted): Promise<number> {
  let taken = 2 * bytes
  for (const { path } of others) taken += await sizeOf(disk, path)
  return taken
}

async function* rowsElsewhere(source: AsyncIterable<readonly CopyRow[]>): AsyncGenerator<readonly CopyRow[]> {
  for await (const rows of source) yield rows.map(row => ({ ...row, value: EMPTY, seq: ELSEWHERE }))
}

/**
 * The last row; a deletion only as long as anything else tells of the key, or may still do. Where something was found
 * all of them: in a copy that is damaged or was left out an older state is told only as long as its stamp is known.
 */
function needed({ key, rows }: KeyHistory, findings: CopyFindings, told: CommitOrder): readonly CopyRow[] {
  const own = rows.filter(({ seq }) => seq !== ELSEWHERE)
  const last = own.at(-1)
  if (last === undefined) return own
  if (findings.mayBeAbout(key)) return own
  const isNeedless = last.value === undefined && own.length === rows.length && compareOrder(last, told) <= 0
  return isNeedless ? [] : [last]
}
