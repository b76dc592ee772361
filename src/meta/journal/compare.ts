/**
 * Compares the engine with the second copy in key order. A record that the engine lacks, or has in an older state, is a
 * finding; everything else goes into the next snapshot.
 */

import { BloomFilter } from '../../lib/bloom-filter.ts'
import { EMPTY, keySuccessor } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { DamagedRecord, ENGINE_KEYS, type Entry, type JournaledEngine, type KeyedSnapshot } from '../meta.ts'
import { type CommitOrder, type CopyRow, rowBytes, showsDeletion } from './copy-format.ts'
import { type DeletionNote, isDeletionNote, readNote } from './deletion-notes.ts'
import { type CopyFiles, filesIn, type SnapshotFile } from './files.ts'
import { MARK_KEY } from './marks.ts'
import { type KeyHistory, mergeHistories } from './merge.ts'
import { rowsOf } from './row-file.ts'
import { type JournalReport, newReport, sortedRuns } from './sort-journals.ts'
import { verdictOf } from './verdict.ts'

const PAGE = 256
/** More than an operator reads; further ones are only counted. */
export const LISTED_MAX = 1_000
/** Per kind of record. A store that lost more of a kind refuses every missing record of that kind. */
const NAMED_MAX = 100_000

/**
 * `missing` and `outdated` as in verdict.ts; `damaged`: the engine's record does not match its checksum, or a lookup by
 * key does not find it.
 */
type FindingKind = 'missing' | 'outdated' | 'damaged'

export interface CopyFinding {
  readonly kind: FindingKind
  readonly key: Buffer
}

export class CopyFindings {
  count = 0
  readonly listed: CopyFinding[] = []
  /** All of them, up to a limit per kind. */
  readonly named: CopyFinding[] = []
  readonly #counts = new Map<number, number>()
  readonly #keys = new BloomFilter()

  add(kind: FindingKind, key: Buffer): void {
    this.count++
    this.#keys.add(key)
    const count = (this.#counts.get(key[0]!) ?? 0) + 1
    this.#counts.set(key[0]!, count)
    if (count > NAMED_MAX) return
    const finding = { kind, key: Buffer.from(key) }
    this.named.push(finding)
    if (this.listed.length < LISTED_MAX) this.listed.push(finding)
  }

  /** First bytes of kinds with more findings than are named. */
  get more(): number[] {
    return [...this.#counts].flatMap(([kind, count]) => (count > NAMED_MAX ? [kind] : []))
  }

  /** Never false for a key with a finding, even if it is not listed. */
  mayInclude(key: Buffer): boolean {
    return this.#keys.mayHave(key)
  }
}

const UNJOURNALED_BYTES_MAX = 64 * 2 ** 20

/** Writes that are missing at the end of a journal: lost in a crash, or not written yet. */
class UnjournaledWrites {
  readonly rows: Pick<CopyRow, 'key' | 'value' | 'stamp'>[] = []
  #bytes = 0

  /** False when there are more; the next round continues. */
  get isComplete(): boolean {
    return this.#bytes <= UNJOURNALED_BYTES_MAX
  }

  add(key: Buffer, found: Entry | undefined): void {
    this.#bytes += rowBytes(key, found?.value)
    if (!this.isComplete) return
    const value = found && Buffer.from(found.value)
    this.rows.push({ key: Buffer.from(key), value, stamp: found?.stamp ?? 0 })
  }
}

/** Changes attributed to a program version without a journal. */
export interface TrustedState {
  /** Records that are gone. */
  gone: number
  /** Records that are new, or in a state unknown to the copy. */
  changed: number
}

/** One comparison of both, as of the same time. */
export interface Comparison {
  /** The engine was read after this commit. */
  readonly at: CommitOrder
  /** The snapshot the copy starts from; undefined when there is none yet and nothing to compare with. */
  readonly base: SnapshotFile | undefined
  readonly files: CopyFiles
  readonly journals: JournalReport
  readonly findings: CopyFindings
  /** Writes that the engine has and no journal contains; incomplete when there are very many. */
  readonly unjournaled: UnjournaledWrites
  /** Undefined unless the copy was bypassed since its last snapshot. Counted during the comparison. */
  readonly trusted: TrustedState | undefined
  /** Deletion notes found, to be removed once a snapshot includes them. */
  readonly notes: readonly Entry[]
  /** The engine's records in batches, without notes; `findings` fill up meanwhile. */
  entries(): AsyncGenerator<readonly Entry[]>
  end(): Promise<void>
}

interface CompareOptions {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly generation: number
}

export async function compare({ engine, disk, folder, generation }: CompareOptions): Promise<Comparison> {
  // The last transaction may not be visible to readers yet; the one before is.
  const txn = Math.max(0, engine.lastTransaction() - 1)
  const at = { generation, txn, seq: Number.POSITIVE_INFINITY }
  const snapshot = await engine.snapshot()
  const journals = newReport()
  try {
    const notes = await notesIn(snapshot)
    // After the snapshot: a deletion that it shows is in a journal by now, or noted in it.
    const files = await filesIn(disk, folder)
    const base = files.snapshots[0]
    const since = base === undefined ? at : { ...base, seq: Number.POSITIVE_INFINITY }
    const { runs, paths } = await sortedRuns(disk, folder, files, { since, settled: at, report: journals })
    const findings = new CopyFindings()
    const unjournaled = new UnjournaledWrites()
    const noted = notedKeys(notes, journals)
    const { damagedFrames } = journals
    const { bypassedBefore: leftOutBefore = 0 } = files
    const trusted = base !== undefined && base.generation < leftOutBefore ? { gone: 0, changed: 0 } : undefined
    const isUnjournaled = unjournaledBy(journals)
    const state = { at, findings, unjournaled, noted, damagedFrames, trusted, leftOutBefore, isUnjournaled }
    return {
      at,
      base,
      files,
      journals,
      findings,
      unjournaled: unjournaled,
      trusted: trusted,
      notes,
      entries: () =>
        base === undefined
          ? withoutNotes(snapshot, findings)
          : compareRecords(snapshot, mergeHistories([rowsOf(disk, base.path), ...runs]), state),
      end: async () => {
        await snapshot.end()
        for (const path of paths) await disk.remove(path)
      },
    }
  } catch (error) {
    await snapshot.end()
    throw error
  }
}

/** All deletion notes, without the mark. */
export async function notesIn(snapshot: KeyedSnapshot): Promise<Entry[]> {
  const notes: Entry[] = []
  for await (const page of pagesOf(snapshot, () => {}, ENGINE_KEYS)) {
    for (const entry of page) {
      if (!isDeletionNote(entry.key)) return notes
      if (!entry.key.equals(MARK_KEY)) notes.push(entry)
    }
  }
  return notes
}

/** Keys of noted deletions that are in no journal, with the generation that deleted them. */
function notedKeys(entries: readonly Entry[], { lastSeq }: JournalReport): Map<string, number> {
  const noted = new Map<string, number>()
  for (const entry of entries) {
    const note: DeletionNote = readNote(entry)
    // Commits are journaled in order: if a later one is present, so is this one.
    if ((lastSeq.get(note.writer) ?? 0) >= note.seq) continue
    for (const key of note.keys) {
      const name = key.toString('latin1')
      noted.set(name, Math.max(note.generation, noted.get(name) ?? 0))
    }
  }
  return noted
}

/** More commits than a process makes while its journal lags. */
const STAMPS_AHEAD_MAX = 2 ** 32

/** Whether a process may have assigned this stamp to a key with this history without having journaled it yet. */
type IsUnjournaled = (stamp: number, history: KeyHistory) => boolean

/** Stamps of one process grow and are close together. */
const isLaterStamp = (stamp: number, of: number): boolean => stamp > of && stamp <= of + STAMPS_AHEAD_MAX

/** Stamps that a process may have assigned after the last one in its journal. */
function unjournaledBy({ lastStamp, damaged, thinned }: JournalReport): IsUnjournaled {
  const lasts = [...lastStamp.values()]
  const isLater = (stamp: number): boolean => lasts.some(last => isLaterStamp(stamp, last))
  if (damaged.length === 0) return isLater
  // The content of the damaged part is unknown. Where earlier writes of a key were dropped, a stamp counts as one of
  // them, unless the process of the last known write made it later.
  return (stamp, { key, rows }) =>
    !thinned.mayHave(key) || isLater(stamp) || isLaterStamp(stamp, rows.at(-1)?.stamp ?? 0)
}

async function* withoutNotes(snapshot: KeyedSnapshot, findings: CopyFindings): AsyncGenerator<readonly Entry[]> {
  for await (const page of pagesOf(snapshot, key => findings.add('damaged', key))) {
    yield page.filter(({ key }) => !isDeletionNote(key))
  }
}

/**
 * Pages of all records. A record that does not match its checksum is reported and skipped; where the tree is out of
 * order the scan ends, and everything after it will be missing.
 */
async function* pagesOf(
  snapshot: KeyedSnapshot,
  onDamage: (key: Buffer) => void,
  from: Buffer = EMPTY,
): AsyncGenerator<readonly Entry[]> {
  for (let start = from; ; ) {
    try {
      const page = await snapshot.scan({ start, end: undefined }, PAGE)
      const last = page.at(-1)
      if (last === undefined) return
      // A flipped bit in a branch page hides records from lookups, but not from a scan.
      for (const { key } of page) if (!snapshot.has(key)) onDamage(key)
      const misplaced = page.findIndex(
        ({ key }, i) => key.compare(i === 0 ? start : page[i - 1]!.key) < (i === 0 ? 0 : 1),
      )
      yield misplaced < 0 ? page : page.slice(0, misplaced)
      if (misplaced >= 0) return onDamage(page[misplaced]!.key)
      start = keySuccessor(last.key)
    } catch (error) {
      if (!(error instanceof DamagedRecord)) throw error
      onDamage(error.key)
      if (error.key.compare(start) < 0) return
      yield await snapshot.scan({ start, end: error.key }, PAGE)
      start = keySuccessor(error.key)
    }
  }
}

interface CompareState {
  readonly at: CommitOrder
  readonly findings: CopyFindings
  readonly unjournaled: UnjournaledWrites
  readonly noted: ReadonlyMap<string, number>
  readonly damagedFrames: readonly Buffer[]
  readonly trusted: TrustedState | undefined
  readonly leftOutBefore: number
  readonly isUnjournaled: IsUnjournaled
}

/** The engine's deletion note, or the rest of a damaged journal frame, shows that the key was deleted since. */
function isDeletionNoted(last: CopyRow, { noted, damagedFrames }: CompareState): boolean {
  const generation = noted.get(last.key.toString('latin1'))
  if (generation !== undefined && last.generation <= generation) return true
  return last.value !== undefined && damagedFrames.some(frame => showsDeletion(frame, last))
}

async function* compareRecords(
  snapshot: KeyedSnapshot,
  known: AsyncGenerator<KeyHistory[]>,
  state: CompareState,
): AsyncGenerator<readonly Entry[]> {
  const { trusted, leftOutBefore } = state
  const damaged = new Set<string>()
  const onDamage = (key: Buffer): void => {
    damaged.add(key.toString('latin1'))
    state.findings.add('damaged', key)
  }
  const evaluate = (history: KeyHistory, found: Entry | undefined): void => {
    const { key, rows } = history
    // Each key is visited once, so its entry is removed to bound memory.
    if (isDeletionNote(key) || (damaged.size > 0 && damaged.delete(key.toString('latin1')))) return
    const last = rows.at(-1)
    const isNoted = found === undefined && isDeletionNoted(last!, state)
    const isBypassed = trusted !== undefined && (last === undefined || last.generation < leftOutBefore)
    const isUnjournaled = (stamp: number): boolean => state.isUnjournaled(stamp, history)
    const verdict = verdictOf(rows, found, {
      at: state.at,
      isUnjournaled: isUnjournaled,
      isNoted,
      isBypassed: isBypassed,
    })
    if (verdict === 'missing' || verdict === 'outdated') state.findings.add(verdict, key)
    const isDeleted = verdict === 'gone' && last?.value !== undefined
    if (verdict === 'new' || (isDeleted && (isNoted || isBypassed))) state.unjournaled.add(key, found)
    if (isBypassed && verdict === 'new') trusted.changed++
    if (isBypassed && isDeleted && !isNoted) trusted.gone++
  }
  let batch: KeyHistory[] = []
  let at = 0
  const next = async (): Promise<KeyHistory | undefined> => {
    while (at >= batch.length) {
      const more = await known.next()
      if (more.done === true) return undefined
      batch = more.value
      at = 0
    }
    return batch[at]
  }
  try {
    for await (const page of pagesOf(snapshot, onDamage)) {
      const entries: Entry[] = []
      for (const entry of page) {
        if (isDeletionNote(entry.key)) continue
        let history = await next()
        for (; history !== undefined && history.key.compare(entry.key) < 0; history = await next()) {
          evaluate(history, undefined)
          at++
        }
        const isKnown = history?.key.equals(entry.key) === true
        evaluate(isKnown ? history! : { key: entry.key, rows: [] }, entry)
        if (isKnown) at++
        entries.push(entry)
      }
      yield entries
    }
    for (let history = await next(); history !== undefined; history = await next()) {
      evaluate(history, undefined)
      at++
    }
  } finally {
    await known.return(undefined)
  }
}
