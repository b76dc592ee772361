/**
 * Reads journals and sorts their rows by key: as much as memory should hold at a time, the rest in temporary run files.
 */
import { join } from 'node:path'
import { BloomFilter } from '../../lib/bloom-filter.ts'
import { EMPTY } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { type CommitOrder, type CopyRow, compareOrder, FrameReader, readRows, rowBytes } from './copy-format.ts'
import { type CopyFiles, type JournalFile, openIfExists } from './files.ts'
import { JOURNAL_TITLE, journalHead } from './journal.ts'
import { mergeHistories } from './merge.ts'
import { RowWriter, rowsOf } from './row-file.ts'

const RUN_BYTES = 64 * 2 ** 20
/** Damaged frames kept for inspection. */
const DAMAGED_FRAMES_MAX = 64
const PIECE_ROWS = 1_024
/** Earlier writes kept per key, in each piece and each run. */
const EARLIER_MAX = 128

/** Findings from reading the journals, besides their rows. */
export interface JournalReport {
  /** The last commit up to which each process's journal is complete. */
  readonly lastSeq: Map<string, number>
  /** The greatest stamp known of each process. */
  readonly lastStamp: Map<string, number>
  /** The latest row of each file; in a condensed one it may be anywhere. */
  readonly lastOrder: Map<string, CommitOrder>
  /** Commits that could not be journaled. */
  lost: number
  /** Files without an end, of processes that were interrupted: their last rows are missing. */
  readonly unfinished: string[]
  /** Files with damaged frames or without the end they must have. */
  readonly damaged: string[]
  /** Payloads of damaged frames, mostly intact. */
  readonly damagedFrames: Buffer[]
  /** Keys written so often that not every earlier write is known. */
  readonly thinned: BloomFilter
}

export const newReport = (): JournalReport => ({
  lastSeq: new Map(),
  lastStamp: new Map(),
  lastOrder: new Map(),
  lost: 0,
  unfinished: [],
  damaged: [],
  damagedFrames: [],
  thinned: new BloomFilter(),
})

const raise = (map: Map<string, number>, name: string, value: number): void =>
  void map.set(name, Math.max(value, map.get(name) ?? 0))

const laterOf = (a: CommitOrder, b: CommitOrder): CommitOrder => (compareOrder(a, b) < 0 ? b : a)

function keepDamagedFrame({ damagedFrames }: JournalReport, payload: Buffer): void {
  if (damagedFrames.length < DAMAGED_FRAMES_MAX) damagedFrames.push(payload)
}

/** The rows of one journal, frame by frame, as far as it can be read. */
async function* journalRows(
  disk: Disk,
  { path, writer }: JournalFile,
  isLast: boolean,
  report: JournalReport,
): AsyncGenerator<readonly CopyRow[]> {
  // A process removes its empty journal when it exits.
  const file = await openIfExists(disk, path)
  if (file === undefined) return
  try {
    const reader = new FrameReader(file, payload => keepDamagedFrame(report, payload))
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
      // After a damaged frame, a note in the engine may be the only record of a commit.
      if (reader.damaged === 0 && !wasDamaged) raise(report.lastSeq, writer, last.seq)
      for (const { stamp } of rows) raise(report.lastStamp, writer, stamp)
      report.lastOrder.set(path, rows.reduce(laterOf, report.lastOrder.get(path) ?? last))
      yield rows
    }
    // An interrupted process leaves no end. A file with a successor was ended, so a missing end is damage.
    const isDamaged = reader.damaged > 0 || reader.isUnreadable
    if (isDamaged || (!reader.isEnded && !isLast)) report.damaged.push(path)
    else if (!reader.isEnded) report.unfinished.push(path)
  } finally {
    await file.close()
  }
}

export const isLastOf = (journal: JournalFile, { journals }: CopyFiles): boolean =>
  !journals.some(({ writer, number }) => writer === journal.writer && number > journal.number)

const byKey = (a: CopyRow, b: CopyRow): number => a.key.compare(b.key) || compareOrder(a, b)

async function* asStream(rows: readonly CopyRow[]): AsyncGenerator<readonly CopyRow[]> {
  yield rows
}

/** Rows in memory in short sorted pieces: sorting all at once would block the event loop. */
class Pieces {
  readonly #filter: RowFilter
  #sorted: CopyRow[][] = []
  #open: CopyRow[] = []
  bytes = 0

  constructor(filter: RowFilter) {
    this.#filter = filter
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
      else kept.push(...thin(sorted.slice(start, end), this.#filter))
    }
    this.#sorted.push(kept)
  }

  take(): AsyncIterable<readonly CopyRow[]>[] {
    this.#close()
    const taken = this.#sorted.map(asStream)
    this.#sorted = []
    this.bytes = 0
    return taken
  }
}

/** Selects rows of the journals. */
interface RowFilter {
  /** Only rows newer than this. */
  readonly since: CommitOrder
  /** Of the rows up to this order, only the last of each key is needed. */
  readonly settled: CommitOrder
  readonly report: JournalReport
  /** Keys of which all rows are needed. */
  readonly keeps?: (key: Buffer) => boolean
  /** Prefix of run file names, where several sorts run in one round. */
  readonly name?: string
}

/** The selected rows of these journals in sorted runs. The caller removes the run files. */
export async function sortedRuns(
  disk: Disk,
  folder: string,
  files: CopyFiles,
  filter: RowFilter,
): Promise<{ readonly runs: readonly AsyncIterable<readonly CopyRow[]>[]; readonly paths: readonly string[] }> {
  const { since, report, name = '' } = filter
  const paths: string[] = []
  const pieces = new Pieces(filter)
  try {
    for (const journal of files.journals) {
      // The base includes everything of an earlier generation, even what its journals lack.
      if (journal.generation < since.generation) continue
      for await (const batch of journalRows(disk, journal, isLastOf(journal, files), report)) {
        for (const row of batch) if (compareOrder(row, since) > 0) pieces.add(row)
        if (pieces.bytes < RUN_BYTES) continue
        paths.push(await spill(disk, join(folder, `${name}${paths.length}.run`), pieces.take(), filter))
      }
    }
  } catch (error) {
    // A full disk must not stay full until the next round.
    for (const path of paths) await disk.remove(path)
    throw error
  }
  return { runs: [...paths.map(path => rowsOf(disk, path)), ...pieces.take()], paths }
}

async function spill(
  disk: Disk,
  path: string,
  pieces: readonly AsyncIterable<readonly CopyRow[]>[],
  filter: RowFilter,
): Promise<string> {
  const writer = await RowWriter.create(disk, path)
  try {
    for await (const batch of mergeHistories(pieces)) {
      for (const { rows } of batch) for (const row of dropValues(thin(rows, filter), filter)) await writer.add(row, row)
    }
    await writer.finish(false)
    return path
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

/** Limits the overwritten rows of one key, when there are very many. */
function thin(rows: readonly CopyRow[], { settled, keeps, report }: RowFilter): readonly CopyRow[] {
  if (rows.length <= EARLIER_MAX) return rows
  const { key } = rows[0]!
  let over = 0
  while (over + 1 < rows.length && compareOrder(rows[over + 1]!, settled) <= 0) over++
  if (over <= EARLIER_MAX || keeps?.(key) === true) return rows
  report.thinned.add(key)
  return rows.slice(over - EARLIER_MAX)
}

/** Drops the values of overwritten rows, so that a frequently written key takes little space. */
function* dropValues(rows: readonly CopyRow[], { settled, keeps }: RowFilter): Generator<CopyRow> {
  const isWhole = keeps?.(rows[0]!.key) === true
  for (const [i, row] of rows.entries()) {
    const next = rows[i + 1]
    const isOverwritten = row.value !== undefined && next !== undefined && compareOrder(next, settled) <= 0
    yield isOverwritten && !isWhole ? { ...row, value: EMPTY } : row
  }
}
