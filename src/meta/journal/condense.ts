/**
 * Compacts journals while there are findings. No snapshot replaces them then, and a server may run for weeks before its
 * metadata are rebuilt. Finished journals are merged into one that has only the last write of each key: never larger
 * than the metadata. For keys with findings everything is kept.
 */
import { EMPTY } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { WRITER_BYTES } from '../../lib/ids.ts'
import type { JournaledEngine } from '../meta.ts'
import { type Comparison, type CopyFindings, notesIn } from './compare.ts'
import { type CommitOrder, type CopyRow, compareOrder, frameOf } from './copy-format.ts'
import { type DeletionNote, readNote, removeNotes } from './deletion-notes.ts'
import { filesIn, type JournalFile, journalPath, sizeOf } from './files.ts'
import { JOURNAL_TITLE, journalHead } from './journal.ts'
import { type KeyHistory, mergeHistories } from './merge.ts'
import { RowWriter, rowsOf } from './row-file.ts'
import { isLastOf, newReport, sortedRuns } from './sort-journals.ts'

/** Kept free in addition to the bytes that a round writes. */
export const HEADROOM_BYTES = 64 * 2 ** 20
/** A writer id that no process has. */
const NO_WRITER = Buffer.alloc(WRITER_BYTES)
/** Values of overwritten rows are never needed here, however recent. */
const ALL: CommitOrder = { generation: Number.POSITIVE_INFINITY, txn: 0, seq: 0 }
/** The `seq` of rows that stay in other files; it sorts before every commit. */
const ELSEWHERE = -1

export interface CondenseResult {
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** Condensing would temporarily need more space than is free. */
interface NoSpace {
  readonly neededBytes: number
}

interface CondenseOptions {
  /** Less than this is not worth the reading. */
  readonly bytesMin: number
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  /** Generation of the running processes. */
  readonly generation: number
  /** Everything committed up to here is in a journal. */
  readonly journaledUpTo: CommitOrder
}

interface JournalSplit {
  readonly finished: readonly JournalFile[]
  readonly others: readonly JournalFile[]
  readonly bytes: number
}

/** Undefined when there is nothing to gain, or information would be lost. */
export async function* condense(
  options: CondenseOptions,
  comparison: Comparison,
): AsyncGenerator<void, CondenseResult | NoSpace | undefined> {
  const { disk, folder, generation, journaledUpTo } = options
  const { files, findings, unjournaled } = comparison
  // Writes that a crash took from a journal must have been added by now; otherwise the journals' ends still show the
  // gap.
  if (!unjournaled.isComplete) return undefined
  const sorted = await splitJournals(options, comparison)
  if (sorted === undefined) return undefined
  const neededBytes = HEADROOM_BYTES + (await bytesNeeded(disk, sorted))
  if ((await disk.free(folder)) < neededBytes) return { neededBytes }
  const number = 1 + Math.max(0, ...files.journals.filter(isCondensed).map(journal => journal.number))
  const path = journalPath(folder, generation, NO_WRITER, number)
  const since = { ...(files.snapshots.at(-1) ?? { generation: 0, txn: 0 }), seq: Number.POSITIVE_INFINITY }
  const report = newReport()
  const filter = { since, settled: ALL, report, keeps: (key: Buffer) => findings.mayInclude(key) }
  const runs: string[] = []
  let writer: RowWriter | undefined
  try {
    const own = await sortedRuns(disk, folder, { ...files, journals: sorted.finished }, { ...filter, name: 'over-' })
    runs.push(...own.paths)
    const rest = { ...filter, since: { ...since, generation: 0 }, report: newReport(), name: 'other-' }
    const otherRuns = await sortedRuns(disk, folder, { ...files, journals: sorted.others }, rest)
    runs.push(...otherRuns.paths)
    const elsewhere = [...files.snapshots.map(snapshot => rowsOf(disk, snapshot.path)), ...otherRuns.runs].map(
      rowsElsewhere,
    )
    const head = journalHead.encode({ title: JOURNAL_TITLE, lost: report.lost, stamp: Number.MAX_SAFE_INTEGER })
    writer = await RowWriter.create(disk, `${path}.new`, frameOf('head', head))
    for await (const histories of mergeHistories([...elsewhere, ...own.runs])) {
      for (const history of histories)
        for (const row of needed(history, findings, journaledUpTo)) await writer.add(row, row)
      yield
    }
    await writer.finish(true)
    const bytesAfter = writer.bytes
    writer = undefined
    await disk.rename(`${path}.new`, path)
    await disk.syncFolder(folder)
    await removeOutdatedNotes(options, sorted, comparison)
    for (const journal of sorted.finished) await disk.remove(journal.path)
    return { bytesBefore: sorted.bytes, bytesAfter }
  } finally {
    await writer?.abandon()
    for (const run of runs) await disk.remove(run)
  }
}

/**
 * Removes notes of processes whose journals are all gone: nothing could show any more that they are outdated. A running
 * process may have started its next file, and its last notes may be the only record of a deletion. The files are
 * therefore listed again, and only notes are removed that were compared or that a finished journal contains.
 */
async function removeOutdatedNotes(
  { engine, disk, folder }: CondenseOptions,
  { finished }: JournalSplit,
  { notes, journals: { lastSeq } }: Comparison,
): Promise<void> {
  const obsolete = new Set(finished.map(({ path }) => path))
  const { journals } = await filesIn(disk, folder)
  const left = new Set(journals.filter(({ path }) => !obsolete.has(path)).map(({ writer }) => writer))
  const gone = new Set(finished.map(({ writer }) => writer).filter(writer => !left.has(writer)))
  const snapshot = await engine.snapshot()
  const later = await notesIn(snapshot).finally(() => snapshot.end())
  const isJournaled = ({ writer, seq }: DeletionNote): boolean => seq <= (lastSeq.get(writer) ?? 0)
  const outdated = [...notes, ...later.filter(note => isJournaled(readNote(note)))]
  await removeNotes(
    engine,
    outdated.filter(note => gone.has(readNote(note).writer)),
  )
}

const isCondensed = ({ writer }: JournalFile): boolean => writer === NO_WRITER.toString('hex')

/** Splits journals into finished, intact ones and others; undefined when they have not doubled since the last time. */
async function splitJournals(
  { disk, generation, bytesMin }: CondenseOptions,
  { files, journals }: Pick<Comparison, 'files' | 'journals'>,
): Promise<JournalSplit | undefined> {
  const { unfinished: cut, damaged, lastOrder } = journals
  /**
   * The last file of a process that may be running; files of an earlier generation are finished, with or without an
   * end.
   */
  const isOpen = (journal: JournalFile): boolean => journal.generation === generation && cut.includes(journal.path)
  const isLast = (journal: JournalFile): boolean => isLastOf(journal, files)
  // While a new file has no rows, only its predecessors show which notes are outdated.
  const begun = files.journals.filter(journal => isOpen(journal) && !lastOrder.has(journal.path))
  const finished = files.journals.filter(
    journal =>
      !isOpen(journal) &&
      // Journals that were not read belong to generations before the newest snapshot and do not grow.
      lastOrder.has(journal.path) &&
      !damaged.includes(journal.path) &&
      (isLast(journal) || !begun.some(({ writer }) => writer === journal.writer)),
  )
  const bytes = { old: 0, fresh: 0 }
  for (const journal of finished) bytes[isCondensed(journal) ? 'old' : 'fresh'] += await sizeOf(disk, journal.path)
  if (bytes.fresh <= Math.max(bytesMin, bytes.old)) return undefined
  return {
    finished,
    others: files.journals.filter(journal => !finished.includes(journal)),
    bytes: bytes.old + bytes.fresh,
  }
}

/** Upper bound: all of them sorted, and the finished ones once more. */
async function bytesNeeded(disk: Disk, { bytes, others }: JournalSplit): Promise<number> {
  let taken = 2 * bytes
  for (const { path } of others) taken += await sizeOf(disk, path)
  return taken
}

async function* rowsElsewhere(source: AsyncIterable<readonly CopyRow[]>): AsyncGenerator<readonly CopyRow[]> {
  for await (const rows of source) yield rows.map(row => ({ ...row, value: EMPTY, seq: ELSEWHERE }))
}

/**
 * The last row of a key; a deletion only while another file may contain the key. For keys with findings all rows: in a
 * damaged or bypassed copy an older state is recognized only while its stamp is known.
 */
function needed({ key, rows }: KeyHistory, findings: CopyFindings, journaledUpTo: CommitOrder): readonly CopyRow[] {
  const own = rows.filter(({ seq }) => seq !== ELSEWHERE)
  const last = own.at(-1)
  if (last === undefined) return own
  if (findings.mayInclude(key)) return own
  const isObsolete = last.value === undefined && own.length === rows.length && compareOrder(last, journaledUpTo) <= 0
  return isObsolete ? [] : [last]
}
