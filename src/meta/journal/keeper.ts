/**
 * Keeps the second copy of a folder: compares it with the engine now and then and makes a new snapshot of what was
 * found right. One from which something vanished that nobody deleted never takes the place of an older one: then the
 * copy stays as it is, says so, and `rebuild` has everything it needs.
 */
import { join } from 'node:path'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Disk } from '../../lib/disk.ts'
import type { Random } from '../../lib/random.ts'
import type { JournaledEngine } from '../meta.ts'
import { type Comparison, type CopyFindings, compare, type TrustedState } from './compare.ts'
import { type CondenseResult, condense, HEADROOM_BYTES } from './condense.ts'
import { removeNotes } from './deletion-notes.ts'
import { type CopyFiles, FINDINGS_FILE, filesIn, sizeOf, snapshotPath } from './files.ts'
import { writeFindings } from './findings-file.ts'
import { type Journal, writeSupplement } from './journal.ts'
import { DamagedCopy, RowWriter } from './row-file.ts'
import { type CommitOrder, compareOrder } from './rows.ts'
import { isLastOf } from './sort-journals.ts'

/** The first round waits until a start has proved itself. */
const FIRST_MS = 30_000
const ROUND_MS = 3_600_000
/** After a round that failed. */
const RETRY_MS = 5 * 60_000
/** A round may take this part of the time, however long one takes. */
const BUSY_PART = 1 / 20
/** A round before its time, when journals are as large as the snapshot, and not small. */
const JOURNAL_BYTES_MIN = 256 * 2 ** 20
const CONDENSE_BYTES_MIN = 64 * 2 ** 20
const SNAPSHOTS_KEPT = 2

export interface KeeperOptions {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly journal: Journal
  readonly random: Random
  readonly clock?: Clock
  /** Journals are condensed when so much of them has not been condensed yet. */
  readonly condenseBytesMin?: number
  readonly tell: (event: KeeperEvent) => void
  /** Findings are in their file, where other processes read them. */
  readonly onFindingsWritten?: () => void
}

export type KeeperEvent =
  | { readonly what: 'findings'; readonly findings: CopyFindings }
  /** The engine has everything again; said after findings only. */
  | { readonly what: 'sound' }
  /** Somebody worked on the engine who kept no journal. A new snapshot was made of what is there. */
  | { readonly what: 'left out'; readonly believed: TrustedState }
  | { readonly what: 'copy damaged'; readonly paths: readonly string[] }
  /** Findings stand for so long that journals had to be made smaller. They have all that is needed. */
  | ({ readonly what: 'condensed' } & CondenseResult)
  | { readonly what: 'no room'; readonly neededBytes: number }

/** As of the last round. */
export interface KeeperState {
  rows: number
  findings: number
  /** When the last snapshot was finished; zero before. */
  lastSnapshotAt: number
  snapshotBytes: number
  journalBytes: number
  /** Commits that the journals which are kept do not have. */
  unwritten: number
  rounds: number
}

export class CopyKeeper {
  readonly #options: KeeperOptions
  readonly #clock: Clock
  #round: AsyncGenerator<void> | undefined
  #roundStartedAt = 0
  #nextAt: number
  /** When the last round has had its part of the time, and how large journals were after it. */
  #restedAt = Number.POSITIVE_INFINITY
  #bytesBefore = 0
  /** Of the last round that found something lost: whatever came before it, journals have told since. */
  #toldUpTo: CommitOrder | undefined
  readonly state: KeeperState = {
    rows: 0,
    findings: 0,
    lastSnapshotAt: 0,
    snapshotBytes: 0,
    journalBytes: 0,
    unwritten: 0,
    rounds: 0,
  }

  constructor(options: KeeperOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#nextAt = this.#clock.elapsed() + FIRST_MS
  }

  /** Some rows of a round. Idle when none is due. */
  async step(): Promise<'busy' | 'idle'> {
    if (this.#round === undefined) {
      if (!(await this.#isDue())) return 'idle'
      this.begin()
    }
    try {
      const { done } = await this.#round!.next()
      // Requests come first.
      if (done !== true) await this.#clock.sleep(0)
      if (done !== true) return 'busy'
    } catch (error) {
      this.#endRound()
      this.#nextAt = this.#clock.elapsed() + RETRY_MS
      if (!(error instanceof DamagedCopy)) throw error
      await this.#setAside(error)
      return 'busy'
    }
    this.#endRound()
    return 'idle'
  }

  /** A round now, whether one is due or not. */
  begin(): void {
    this.#roundStartedAt = this.#clock.elapsed()
    this.#round ??= this.#rounded()
  }

  /** Breaks off what is under way: its snapshot is not one. */
  async stop(): Promise<void> {
    await this.#round?.return(undefined)
    this.#round = undefined
  }

  #endRound(): void {
    const now = this.#clock.elapsed()
    this.#round = undefined
    this.#restedAt = now + (now - this.#roundStartedAt) / BUSY_PART
    this.#nextAt = Math.max(now + ROUND_MS, this.#restedAt)
    this.#bytesBefore = this.state.journalBytes
  }

  async #isDue(): Promise<boolean> {
    const { disk, folder } = this.#options
    const files = await filesIn(disk, folder)
    this.state.journalBytes = await bytesOf(disk, files)
    const now = this.#clock.elapsed()
    if (now >= this.#nextAt) return true
    const grown = this.state.journalBytes - this.#bytesBefore
    return now >= this.#restedAt && grown > Math.max(JOURNAL_BYTES_MIN, this.state.snapshotBytes)
  }

  /** A snapshot that is damaged is no use; the one before, with its journals, is. */
  async #setAside({ path }: DamagedCopy): Promise<void> {
    const { disk, tell } = this.#options
    tell({ what: 'copy damaged', paths: [path] })
    if (path.endsWith('.run')) await disk.remove(path)
    else await disk.rename(path, `${path}.damaged`)
    this.#nextAt = this.#clock.elapsed()
  }

  async *#rounded(): AsyncGenerator<void> {
    const { engine, disk, folder, journal } = this.#options
    for (const path of (await filesIn(disk, folder)).unfinished) await disk.remove(path)
    if (!(await this.#hasRoom())) return
    const comparison = await compare({ engine, disk, folder, generation: journal.generation })
    const path = snapshotPath(folder, comparison.at.generation, comparison.at.txn)
    let writer: RowWriter | undefined
    try {
      writer = await RowWriter.create(disk, `${path}.new`)
      const order = { ...comparison.at, seq: 0 }
      for await (const entries of comparison.entries()) {
        for (const entry of entries) await writer.add(order, entry)
        yield
      }
      await this.#report(comparison, writer)
      if (comparison.findings.count > 0) {
        await this.#supplement(comparison)
        await writer.abandon()
        writer = undefined
        await comparison.end()
        return yield* this.#condensed(comparison)
      }
      await writer.finish(true)
      await disk.rename(`${path}.new`, path)
      await disk.syncFolder(folder)
      this.state.snapshotBytes = writer.bytes
      this.state.lastSnapshotAt = this.#clock.now()
      writer = undefined
      const { believed } = comparison
      if (believed !== undefined) this.#options.tell({ what: 'left out', believed })
      await this.#clear(comparison)
      this.state.journalBytes = await bytesOf(disk, await filesIn(disk, folder))
    } finally {
      await writer?.abandon()
      await comparison.end()
    }
  }

  async #report({ findings, journals, files }: Comparison, { rows }: RowWriter): Promise<void> {
    const { disk, folder, tell } = this.#options
    this.state.rounds++
    this.state.rows = rows
    this.state.findings = findings.count
    this.state.unwritten = journals.lost
    if (journals.damaged.length > 0) tell({ what: 'copy damaged', paths: journals.damaged })
    const path = join(folder, FINDINGS_FILE)
    if (findings.count > 0) {
      tell({ what: 'findings', findings })
      if (!files.hadFindings) {
        // Empty first, which takes no room: the next start must know before it frees anything.
        await (await disk.open(path, 'create')).close()
        await disk.syncFolder(folder)
      }
      await writeFindings(disk, folder, findings)
      this.#options.onFindingsWritten?.()
    } else if (files.hadFindings) {
      await disk.remove(path)
      tell({ what: 'sound' })
    }
  }

  /** There will be no new snapshot: what a crash took from a journal is written down all the same. */
  async #supplement({ at, untold }: Comparison): Promise<void> {
    const { disk, folder, random } = this.#options
    if (untold.rows.length > 0) await writeSupplement({ disk, folder, random }, { ...at, seq: 0 }, untold.rows)
  }

  /** Nor do journals grow without end meanwhile. */
  async *#condensed(comparison: Comparison): AsyncGenerator<void> {
    const { engine, disk, folder, journal, tell, condenseBytesMin: bytesMin = CONDENSE_BYTES_MIN } = this.#options
    const { generation } = journal
    const told = this.#toldUpTo ?? { generation, txn: 0, seq: 0 }
    this.#toldUpTo = comparison.at
    const condensed = yield* condense({ engine, disk, folder, generation, told, bytesMin }, comparison)
    this.state.journalBytes = await bytesOf(disk, await filesIn(disk, folder))
    if (condensed === undefined) return
    if ('neededBytes' in condensed) tell({ what: 'no room', ...condensed })
    else tell({ what: 'condensed', ...condensed })
  }

  async #hasRoom(): Promise<boolean> {
    const { engine, disk, folder, tell } = this.#options
    const neededBytes = HEADROOM_BYTES + ((await engine.statistics?.())?.usedBytes ?? 0) + this.state.journalBytes
    if ((await disk.free(folder)) >= neededBytes) return true
    tell({ what: 'no room', neededBytes })
    return false
  }

  /** Takes away what the snapshots that are kept make needless: older ones, journals, notes. */
  async #clear({ journals: read, notes }: Comparison): Promise<void> {
    const { engine, disk, folder, journal: own } = this.#options
    await removeNotes(engine, notes)
    const files = await filesIn(disk, folder)
    for (const { path } of files.snapshots.slice(SNAPSHOTS_KEPT)) await disk.remove(path)
    const oldest = files.snapshots[SNAPSHOTS_KEPT - 1]
    if (oldest === undefined) return
    // With only one snapshot since, the other one may have to serve once more.
    if (oldest.generation >= (files.leftOutBefore ?? 0)) for (const path of files.leftOut) await disk.remove(path)
    const covered = { ...oldest, seq: Number.POSITIVE_INFINITY }
    for (const file of files.journals) {
      const last = read.lastOrder.get(file.path)
      // The last file of a process that may live is appended to, and tells which stamps are its.
      const isLive = file.generation === own.generation && isLastOf(file, files)
      const isCovered = last !== undefined && compareOrder(last, covered) <= 0
      if (file.generation < oldest.generation || (isCovered && !isLive)) await disk.remove(file.path)
    }
  }
}

async function bytesOf(disk: Disk, { journals }: CopyFiles): Promise<number> {
  let bytes = 0
  for (const { path } of journals) bytes += await sizeOf(disk, path)
  return bytes
}
