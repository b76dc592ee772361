/**
 * The engine and the second copy, side by side in the order of keys. What the engine lacks, or has in an older state,
 * is a finding; everything else goes into the next snapshot.
 */

import { BloomFilter } from '../../lib/bloom-filter.ts'
import { EMPTY, keySuccessor } from '../../lib/bytes.ts'
import type { Disk } from '../../lib/disk.ts'
import { DamagedRecord, ENGINE_KEYS, type Entry, type JournaledEngine, type KeyedSnapshot } from '../meta.ts'
import { type DeletionNote, isDeletionNote, readNote } from './deletion-notes.ts'
import { type CopyFiles, filesIn, type SnapshotFile } from './files.ts'
import { MARK_KEY } from './marks.ts'
import { type KeyHistory, mergeHistories } from './merge.ts'
import { rowsOf } from './row-file.ts'
import { type CommitOrder, type CopyRow, rowBytes, showsDeletion } from './rows.ts'
import { type JournalReport, newReport, sortedRuns } from './sort-journals.ts'
import { verdictOf } from './verdict.ts'

const PAGE = 256
/** More than anybody reads; the count goes on. */
export const SHOWN_MAX = 1_000
/** Of each kind of record. Beyond, a store that has lost so much answers for nothing of that kind. */
const NAMED_MAX = 100_000

/**
 * `missing` and `outdated` as in verdict.ts; `damaged`: the engine's record does not match its checksum, or whoever
 * looks for it is led past it.
 */
export type FindingKind = 'missing' | 'outdated' | 'damaged'

export interface CopyFinding {
  readonly kind: FindingKind
  readonly key: Buffer
}

export class CopyFindings {
  count = 0
  readonly shown: CopyFinding[] = []
  /** All of them, as far as there are not very many of a kind. */
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
    if (this.shown.length < SHOWN_MAX) this.shown.push(finding)
  }

  /** The first byte of kinds of which not all are named. */
  get more(): number[] {
    return [...this.#counts].flatMap(([kind, count]) => (count > NAMED_MAX ? [kind] : []))
  }

  /** Never false of a key that something was found about, also when it is not shown. */
  mayBeAbout(key: Buffer): boolean {
    return this.#keys.mayHave(key)
  }
}

const UNTOLD_BYTES_MAX = 64 * 2 ** 20

/** Writes that the end of a journal should have told: a crash took it along, or it is not written yet. */
export class UnreportedFindings {
  readonly rows: Pick<CopyRow, 'key' | 'value' | 'stamp'>[] = []
  #bytes = 0

  /** False when there is more, for another time. */
  get isWhole(): boolean {
    return this.#bytes <= UNTOLD_BYTES_MAX
  }

  add(key: Buffer, found: Entry | undefined): void {
    this.#bytes += rowBytes(key, found?.value)
    if (!this.isWhole) return
    const value = found && Buffer.from(found.value)
    this.rows.push({ key: Buffer.from(key), value, stamp: found?.stamp ?? 0 })
  }
}

/** What was taken for the work of somebody who kept no journal. */
export interface TrustedState {
  /** Records that are not there any more. */
  gone: number
  /** Records that are new, or in a state that the copy does not know. */
  changed: number
}

/** One look at both, of one moment. */
export interface Comparison {
  /** The engine was read after this moment. */
  readonly at: CommitOrder
  /** What the copy starts from; undefined when there is no snapshot yet, and nothing to compare with. */
  readonly base: SnapshotFile | undefined
  readonly files: CopyFiles
  readonly journals: JournalReport
  readonly findings: CopyFindings
  /** What the engine has, and rightly has not, that no journal tells of; some of it when it is very much. */
  readonly untold: UnreportedFindings
  /** Undefined unless the copy was left out since its last snapshot. Counts on the way. */
  readonly believed: TrustedState | undefined
  /** Notes that were there, to be taken away once a snapshot says the same. */
  readonly notes: readonly Entry[]
  /** What the engine has, some at a time, without notes; `findings` fill up on the way. */
  entries(): AsyncGenerator<readonly Entry[]>
  end(): Promise<void>
}

export interface CompareOptions {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly generation: number
}

export async function compare({ engine, disk, folder, generation }: CompareOptions): Promise<Comparison> {
  // The last one may be written and not shown to readers yet: the one before is.
  const txn = Math.max(0, engine.lastTransaction() - 1)
  const at = { generation, txn, seq: Number.POSITIVE_INFINITY }
  const snapshot = await engine.snapshot()
  const journals = newReport()
  try {
    const notes = await notesIn(snapshot)
    // After the snapshot was taken: a deletion that it shows is in a journal by now, or noted in it.
    const files = await filesIn(disk, folder)
    const base = files.snapshots[0]
    const since = base === undefined ? at : { ...base, seq: Number.POSITIVE_INFINITY }
    const { runs, paths } = await sortedRuns(disk, folder, files, { since, settled: at, report: journals })
    const findings = new CopyFindings()
    const untold = new UnreportedFindings()
    const noted = notedKeys(notes, journals)
    const { wreckage } = journals
    const { leftOutBefore = 0 } = files
    const believed = base !== undefined && base.generation < leftOutBefore ? { gone: 0, changed: 0 } : undefined
    const isUntold = untoldBy(journals)
    const looking = { at, findings, untold, noted, wreckage, believed, leftOutBefore, isUntold }
    return {
      at,
      base,
      files,
      journals,
      findings,
      untold,
      believed,
      notes,
      entries: () =>
        base === undefined
          ? withoutNotes(snapshot, findings)
          : sideBySide(snapshot, mergeHistories([rowsOf(disk, base.path), ...runs]), looking),
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

/** All of them, without the mark. */
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

/** Deletions that are in no journal, by key; each with the generation that made it. */
function notedKeys(entries: readonly Entry[], { lastSeq }: JournalReport): Map<string, number> {
  const noted = new Map<string, number>()
  for (const entry of entries) {
    const note: DeletionNote = readNote(entry)
    // Commits are told in their order: a later one is there, so this one is.
    if ((lastSeq.get(note.writer) ?? 0) >= note.seq) continue
    for (const key of note.keys) {
      const name = key.toString('latin1')
      noted.set(name, Math.max(note.generation, noted.get(name) ?? 0))
    }
  }
  return noted
}

/** More commits than any process makes while its journal is behind. */
const STAMPS_AHEAD_MAX = 2 ** 32

/** Whether a process may have given this stamp to a key of which so much is known, and no journal tells of it. */
type IsUntold = (stamp: number, history: KeyHistory) => boolean

/** Stamps of one process are near each other, and grow. */
const isAhead = (stamp: number, of: number): boolean => stamp > of && stamp <= of + STAMPS_AHEAD_MAX

/** Stamps that a process may have given after the last one that its journal tells of. */
function untoldBy({ lastStamp, damaged, thinned }: JournalReport): IsUntold {
  const lasts = [...lastStamp.values()]
  const isLater = (stamp: number): boolean => lasts.some(last => isAhead(stamp, last))
  if (damaged.length === 0) return isLater
  // What stood in the part that is lost, nobody knows. Where earlier writes are not all known it would pass for them,
  // unless the process that made the last known one made it later.
  return (stamp, { key, rows }) => !thinned.mayHave(key) || isLater(stamp) || isAhead(stamp, rows.at(-1)?.stamp ?? 0)
}

async function* withoutNotes(snapshot: KeyedSnapshot, findings: CopyFindings): AsyncGenerator<readonly Entry[]> {
  for await (const page of pagesOf(snapshot, key => findings.add('damaged', key))) {
    yield page.filter(({ key }) => !isDeletionNote(key))
  }
}

/**
 * Pages of all records. One that does not match its checksum is told and passed over; where the tree leads astray there
 * is no way on, and what lies behind will be missed.
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
      // A turned bit in the tree above the records hides some from whoever looks for them, and not from who reads all.
      for (const { key } of page) if (!snapshot.has(key)) onDamage(key)
      const astray = page.findIndex(({ key }, i) => key.compare(i === 0 ? start : page[i - 1]!.key) < (i === 0 ? 0 : 1))
      yield astray < 0 ? page : page.slice(0, astray)
      if (astray >= 0) return onDamage(page[astray]!.key)
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

interface Looking {
  readonly at: CommitOrder
  readonly findings: CopyFindings
  readonly untold: UnreportedFindings
  readonly noted: ReadonlyMap<string, number>
  readonly wreckage: readonly Buffer[]
  readonly believed: TrustedState | undefined
  readonly leftOutBefore: number
  readonly isUntold: IsUntold
}

/** The engine's own note says that it was deleted since, or what is left of a damaged journal does. */
function isDeletionNoted(last: CopyRow, { noted, wreckage }: Looking): boolean {
  const generation = noted.get(last.key.toString('latin1'))
  if (generation !== undefined && last.generation <= generation) return true
  return last.value !== undefined && wreckage.some(wreck => showsDeletion(wreck, last))
}

async function* sideBySide(
  snapshot: KeyedSnapshot,
  known: AsyncGenerator<KeyHistory[]>,
  looking: Looking,
): AsyncGenerator<readonly Entry[]> {
  const { believed, leftOutBefore } = looking
  const damaged = new Set<string>()
  const onDamage = (key: Buffer): void => {
    damaged.add(key.toString('latin1'))
    looking.findings.add('damaged', key)
  }
  const judge = (history: KeyHistory, found: Entry | undefined): void => {
    const { key, rows } = history
    // Each key comes by once: what is left behind would only take up memory.
    if (isDeletionNote(key) || (damaged.size > 0 && damaged.delete(key.toString('latin1')))) return
    const last = rows.at(-1)
    const isNoted = found === undefined && isDeletionNoted(last!, looking)
    const isLeftOut = believed !== undefined && (last === undefined || last.generation < leftOutBefore)
    const isUntold = (stamp: number): boolean => looking.isUntold(stamp, history)
    const verdict = verdictOf(rows, found, { at: looking.at, isUntold, isNoted, isLeftOut })
    if (verdict === 'missing' || verdict === 'outdated') looking.findings.add(verdict, key)
    const isDeleted = verdict === 'gone' && last?.value !== undefined
    if (verdict === 'new' || (isDeleted && (isNoted || isLeftOut))) looking.untold.add(key, found)
    if (isLeftOut && verdict === 'new') believed.changed++
    if (isLeftOut && isDeleted && !isNoted) believed.gone++
  }
  let waiting: KeyHistory[] = []
  let at = 0
  const next = async (): Promise<KeyHistory | undefined> => {
    while (at >= waiting.length) {
      const more = await known.next()
      if (more.done === true) return undefined
      waiting = more.value
      at = 0
    }
    return waiting[at]
  }
  try {
    for await (const page of pagesOf(snapshot, onDamage)) {
      const kept: Entry[] = []
      for (const entry of page) {
        if (isDeletionNote(entry.key)) continue
        let history = await next()
        for (; history !== undefined && history.key.compare(entry.key) < 0; history = await next()) {
          judge(history, undefined)
          at++
        }
        const isKnown = history?.key.equals(entry.key) === true
        judge(isKnown ? history! : { key: entry.key, rows: [] }, entry)
        if (isKnown) at++
        kept.push(entry)
      }
      yield kept
    }
    for (let history = await next(); history !== undefined; history = await next()) {
      judge(history, undefined)
      at++
    }
  } finally {
    await known.return(undefined)
  }
}
