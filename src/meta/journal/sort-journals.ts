/**
 * Journals, read and put into the order of keys: as much at a time as memory should hold, the rest in files of its own
 * for the time of a round.
 */
import { join } from 'node:path'
import { BloomFilter } from '../../lib/bloom-filter.ts'
import { EMPTY } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { type CopyFiles, type JournalFile, openIfThere } from './files.ts'
import { FrameReader } from './frames.ts'
import { JOURNAL_TITLE, journalHead } from './journal.ts'
import { mergeHistories } from './merge.ts'
import { RowWriter, rowsOf } from './row-file.ts'
import { type CommitOrder, type CopyRow, compareOrder, readRows, rowBytes } from './rows.ts'

const RUN_BYTES = 64 * 2 ** 20
/** Damaged frames that are kept to be looked at. */
const WRECKAGE_MAX = 64
const PIECE_ROWS = 1_024
/** Of a key that is written again and again, so many earlier writes are remembered of each piece and of each run. */
const EARLIER_MAX = 128

/** What reading the journals brought up besides their rows. */
export interface JournalReport {
  /** The last commit up to which each process has told of all. */
  readonly lastSeq: Map<string, number>
  /** The greatest stamp that each process is known to have given. */
  readonly lastStamp: Map<string, number>
  /** The latest row of each file: of one that was condensed it may stand anywhere. */
  readonly lastOrder: Map<string, CommitOrder>
  /** Commits that could not be written down. */
  lost: number
  /** Of processes that were cut off: what they had not written yet is missing. */
  readonly cut: string[]
  /** Frames or ends of files that are not what was written. */
  readonly damaged: string[]
  /** What stands in damaged frames: wrong somewhere, and right for the most part. */
  readonly wreckage: Buffer[]
  /** Keys that were written so often that not every earlier write is known. */
  readonly thinned: BloomFilter
}

export const newReport = (): JournalReport => ({
  lastSeq: new Map(),
  lastStamp: new Map(),
  lastOrder: new Map(),
  lost: 0,
  cut: [],
  damaged: [],
  wreckage: [],
  thinned: new BloomFilter(),
})

const raise = (map: Map<string, number>, name: string, value: number): void =>
  void map.set(name, Math.max(value, map.get(name) ?? 0))

const laterOf = (a: CommitOrder, b: CommitOrder): CommitOrder => (compareOrder(a, b) < 0 ? b : a)

function keepWreckage({ wreckage }: JournalReport, payload: Buffer): void {
  if (wreckage.length < WRECKAGE_MAX) wreckage.push(payload)
}

/** The rows of one journal, a frame at a time, as far as it can be read. */
export async function* journalRows(
  disk: Disk,
  { path, writer }: JournalFile,
  isLast: boolean,
  report: JournalReport,
): AsyncGenerator<readonly CopyRow[]> {
  // One that tells of nothing is removed by its process when that ends.
  const file = await openIfThere(disk, path)
  if (file === undefined) return
  try {
    const reader = new FrameReader(file, payload => keepWreckage(report, payload))
    const head = await reader.next()
    const wasDamaged = report.damaged.some(other => other.includes(writer))
    if (head?.kind === 'head') {
      const { title, lost, stamp } = journalHead.decode(head.payload)
      if (title !== JOURNAL_TITLE) throw new Error(`${path} is of another version`)
      report.lost += lost
      raise(report.lastStamp, writer, stamp)
    }
    for (let frame = head; frame !== undefined; frame = await reader.next()) {
      if (frame.kind !== 'rows') continue
      const rows = readRows(frame.payload)
      const last = rows.at(-1)
      if (last === undefined) continue
      // Behind a frame that is lost a note in the engine may be all that tells of a commit.
      if (reader.damaged === 0 && !wasDamaged) raise(report.lastSeq, writer, last.seq)
      for (const { stamp } of rows) raise(report.lastStamp, writer, stamp)
      report.lastOrder.set(path, rows.reduce(laterOf, report.lastOrder.get(path) ?? last))
      yield rows
    }
    // Whoever was cut off has no end. One that has a successor was ended, so its end is lost.
    const isDamaged = reader.damaged > 0 || reader.isUnreadable
    if (isDamaged || (!reader.isEnded && !isLast)) report.damaged.push(path)
    else if (!reader.isEnded) report.cut.push(path)
  } finally {
    await file.close()
  }
}

export const isLastOf = (journal: JournalFile, { journals }: CopyFiles): boolean =>
  !journals.some(({ writer, number }) => writer === journal.writer && number > journal.number)

const byKey = (a: CopyRow, b: CopyRow): number => a.key.compare(b.key) || compareOrder(a, b)

async function* inOnePiece(rows: readonly CopyRow[]): AsyncGenerator<readonly CopyRow[]> {
  yield rows
}

/** Rows in memory, in sorted pieces that are short: whoever sorts all of them at once lets others wait. */
class Pieces {
  readonly #wanted: RowFilter
  #sorted: CopyRow[][] = []
  #open: CopyRow[] = []
  bytes = 0

  constructor(wanted: RowFilter) {
    this.#wanted = wanted
  }

  add(row: CopyRow): void {
    this.bytes += rowBytes(row.key, row.value)
    this.#open.push(row)
    if (this.#open.length >= PIECE_ROWS) this.#close()
  }

  #close(): void {
    const sorted = this.#open.sort(byKey)
    this.#open = []
    const kept: CopyRow[] = []
    for (let start = 0, end = 1; start < sorted.length; start = end++) {
      const { key } = sorted[start]!
      while (end < sorted.length && sorted[end]!.key.equals(key)) end++
      if (end - start <= EARLIER_MAX) for (let at = start; at < end; at++) kept.push(sorted[at]!)
      else kept.push(...thin(sorted.slice(start, end), this.#wanted))
    }
    this.#sorted.push(kept)
  }

  take(): AsyncIterable<readonly CopyRow[]>[] {
    this.#close()
    const taken = this.#sorted.map(inOnePiece)
    this.#sorted = []
    this.bytes = 0
    return taken
  }
}

/** What is wanted of the journals. */
export interface RowFilter {
  /** Only what is newer than this. */
  readonly since: CommitOrder
  /** Of what was written up to here, only the last of each key counts. */
  readonly settled: CommitOrder
  readonly report: JournalReport
  /** Of these keys the others count as well. */
  readonly keeps?: (key: Buffer) => boolean
  /** What the names of runs begin with, where there are several rounds of them. */
  readonly name?: string
}

/** Everything that is wanted of these journals, in sorted runs. Those in files are to be removed. */
export async function sortedRuns(
  disk: Disk,
  folder: string,
  files: CopyFiles,
  wanted: RowFilter,
): Promise<{ readonly runs: readonly AsyncIterable<readonly CopyRow[]>[]; readonly paths: readonly string[] }> {
  const { since, report, name = '' } = wanted
  const paths: string[] = []
  const pieces = new Pieces(wanted)
  try {
    for (const journal of files.journals) {
      // Of a generation that was over: all of it is in what is known already, also what its journals lack.
      if (journal.generation < since.generation) continue
      for await (const some of journalRows(disk, journal, isLastOf(journal, files), report)) {
        for (const row of some) if (compareOrder(row, since) > 0) pieces.add(row)
        if (pieces.bytes < RUN_BYTES) continue
        paths.push(await spill(disk, join(folder, `${name}${paths.length}.run`), pieces.take(), wanted))
      }
    }
  } catch (error) {
    // A disk that is full must not stay so until the next round.
    for (const path of paths) await disk.remove(path)
    throw error
  }
  return { runs: [...paths.map(path => rowsOf(disk, path)), ...pieces.take()], paths }
}

async function spill(
  disk: Disk,
  path: string,
  pieces: readonly AsyncIterable<readonly CopyRow[]>[],
  wanted: RowFilter,
): Promise<string> {
  const writer = await RowWriter.create(disk, path)
  try {
    for await (const some of mergeHistories(pieces)) {
      for (const { rows } of some) for (const row of shed(thin(rows, wanted), wanted)) await writer.add(row, row)
    }
    await writer.finish(false)
    return path
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

/** Everything of one key, the oldest first: of what was overwritten only the last, when it is very much. */
function thin(rows: readonly CopyRow[], { settled, keeps, report }: RowFilter): readonly CopyRow[] {
  if (rows.length <= EARLIER_MAX) return rows
  const { key } = rows[0]!
  let over = 0
  while (over + 1 < rows.length && compareOrder(rows[over + 1]!, settled) <= 0) over++
  if (over <= EARLIER_MAX || keeps?.(key) === true) return rows
  report.thinned.add(key)
  return rows.slice(over - EARLIER_MAX)
}

/** A key may be written again and again: of what was overwritten no more is kept than that it was there. */
function* shed(rows: readonly CopyRow[], { settled, keeps }: RowFilter): Generator<CopyRow> {
  const isWhole = keeps?.(rows[0]!.key) === true
  for (const [i, row] of rows.entries()) {
    const next = rows[i + 1]
    const isOver = row.value !== undefined && next !== undefined && compareOrder(next, settled) <= 0
    yield isOver && !isWhole ? { ...row, value: EMPTY } : row
  }
}
