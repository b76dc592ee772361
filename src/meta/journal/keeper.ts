/**
 * Maintains the second copy of a folder: compares it with the engine regularly and makes a new snapshot of a state
 * found intact. A state that lost a record without a deletion never replaces an older snapshot: the copy is kept, the
 * loss is reported, and `rebuild` has everything it needs.
 */
import { join } from 'node:path'
import { type Clock, systemClock } from '../../lib/clock.ts'
import type { Disk } from '../../lib/disk.ts'
import type { Random } from '../../lib/random.ts'
import type { JournaledEngine } from '../meta.ts'
import { type Comparison, type CopyFindings, compare, type TrustedState } from './compare.ts'
import { type CondenseResult, condense, HEADROOM_BYTES } from './condense.ts'
import { type CommitOrder, compareOrder } from './copy-format.ts'
import { removeNotes } from './deletion-notes.ts'
import { type CopyFiles, FINDINGS_FILE, filesIn, sizeOf, snapshotPath } from './files.ts'
import { writeFindings } from './findings-file.ts'
import { type Journal, writeSupplement } from './journal.ts'
import { DamagedCopy, RowWriter } from './row-file.ts'
import { isLastOf } from './sort-journals.ts'

/** The first round waits until the start has settled. */
const FIRST_MS = 30_000
const ROUND_MS = 3_600_000
/** Delay after a failed round. */
const RETRY_MS = 5 * 60_000
/** The maximum share of time that rounds may take. */
const BUSY_SHARE = 1 / 20
/** An early round runs when journals have grown by this and by the size of the snapshot. */
const JOURNAL_BYTES_MIN = 256 * 2 ** 20
const CONDENSE_BYTES_MIN = 64 * 2 ** 20
const SNAPSHOTS_KEPT = 2

interface KeeperOptions {
  readonly engine: JournaledEngine
  readonly disk: Disk
  readonly folder: string
  readonly journal: Journal
  readonly random: Random
  readonly clock?: Clock
  /** Journals are condensed when so much of them has not been condensed yet. */
  readonly condenseBytesMin?: number
  readonly onEvent: (event: KeeperEvent) => void
  /** Called when the findings file is written, so that other processes read it. */
  readonly onFindingsWritten?: () => void
}

export type KeeperEvent =
  | { readonly what: 'findings'; readonly findings: CopyFindings }
  /** The engine is complete again; only after findings. */
  | { readonly what: 'sound' }
  /** A program version without a journal changed the engine. A new snapshot was made of the current state. */
  | { readonly what: 'left out'; readonly trusted: TrustedState }
  | { readonly what: 'copy damaged'; readonly paths: readonly string[] }
  /** Findings have stood for so long that journals were compacted. Nothing needed was dropped. */
  | ({ readonly what: 'condensed' } & CondenseResult)
  | { readonly what: 'no room'; readonly neededBytes: number }

/** The state after the last round. */
interface KeeperState {
  rows: number
  findings: number
  /** Completion time of the last snapshot; zero before. */
  lastSnapshotAt: number
  snapshotBytes: number
  journalBytes: number
  /** Commits missing from the journals that are kept. */
  unwritten: number
  rounds: number
}

export class CopyKeeper {
  readonly #options: KeeperOptions
  readonly #clock: Clock
  #round: AsyncGenerator<void> | undefined
  #roundStartedAt = 0
  #nextAt: number
  /** The end of the pause that the last round's duration requires, and the size of journals after it. */
  #restedAt = Number.POSITIVE_INFINITY
  #bytesBefore = 0
  /** Time of the last round with findings: everything before it is journaled. */
  #journaledUpTo: CommitOrder | undefined
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

  /** Processes some rows of a round. Idle when none is due. */
  async step(): Promise<'busy' | 'idle'> {
    if (this.#round === undefined) {
      if (!(await this.#isDue())) return 'idle'
      this.begin()
    }
    try {
      const { done } = await this.#round!.next()
      // Yields to requests.
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

  /** Starts a round, whether or not one is due. */
  begin(): void {
    this.#roundStartedAt = this.#clock.elapsed()
    this.#round ??= this.#runRound()
  }

  /** Aborts a running round and discards its snapshot. */
  async stop(): Promise<void> {
    await this.#round?.return(undefined)
    this.#round = undefined
  }

  #endRound(): void {
    const now = this.#clock.elapsed()
    this.#round = undefined
    this.#restedAt = now + (now - this.#roundStartedAt) / BUSY_SHARE
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

  /** Sets a damaged snapshot aside; the previous one and its journals take over. */
  async #setAside({ path }: DamagedCopy): Promise<void> {
    const { disk, onEvent } = this.#options
    onEvent({ what: 'copy damaged', paths: [path] })
    if (path.endsWith('.run')) await disk.remove(path)
    else await disk.rename(path, `${path}.damaged`)
    this.#nextAt = this.#clock.elapsed()
  }

  async *#runRound(): AsyncGenerator<void> {
    const { engine, disk, folder, journal } = this.#options
    for (const path of (await filesIn(disk, folder)).unfinished) await disk.remove(path)
    if (!(await this.#hasSpace())) return
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
        await this.#writeSupplement(comparison)
        await writer.abandon()
        writer = undefined
        await comparison.end()
        return yield* this.#condense(comparison)
      }
      await writer.finish(true)
      await disk.rename(`${path}.new`, path)
      await disk.syncFolder(folder)
      this.state.snapshotBytes = writer.bytes
      this.state.lastSnapshotAt = this.#clock.now()
      writer = undefined
      const { trusted } = comparison
      if (trusted !== undefined) this.#options.onEvent({ what: 'left out', trusted })
      await this.#removeObsolete(comparison)
      this.state.journalBytes = await bytesOf(disk, await filesIn(disk, folder))
    } finally {
      await writer?.abandon()
      await comparison.end()
    }
  }

  async #report({ findings, journals, files }: Comparison, { rows }: RowWriter): Promise<void> {
    const { disk, folder, onEvent } = this.#options
    this.state.rounds++
    this.state.rows = rows
    this.state.findings = findings.count
    this.state.unwritten = journals.lost
    if (journals.damaged.length > 0) onEvent({ what: 'copy damaged', paths: journals.damaged })
    const path = join(folder, FINDINGS_FILE)
    if (findings.count > 0) {
      onEvent({ what: 'findings', findings })
      if (!files.hadFindings) {
        // Created empty first, which takes no space: the next start must know before it frees anything.
        await (await disk.open(path, 'create')).close()
        await disk.syncFolder(folder)
      }
      await writeFindings(disk, folder, findings)
      this.#options.onFindingsWritten?.()
    } else if (files.hadFindings) {
      await disk.remove(path)
      onEvent({ what: 'sound' })
    }
  }

  /** No snapshot will be made, so writes that a crash took from a journal are added to the copy. */
  async #writeSupplement({ at, unjournaled }: Comparison): Promise<void> {
    const { disk, folder, random } = this.#options
    if (unjournaled.rows.length > 0)
      await writeSupplement({ disk, folder, random }, { ...at, seq: 0 }, unjournaled.rows)
  }

  /** Compacts journals, which no snapshot replaces meanwhile. */
  async *#condense(comparison: Comparison): AsyncGenerator<void> {
    const { engine, disk, folder, journal, onEvent, condenseBytesMin: bytesMin = CONDENSE_BYTES_MIN } = this.#options
    const { generation } = journal
    const journaledUpTo = this.#journaledUpTo ?? { generation, txn: 0, seq: 0 }
    this.#journaledUpTo = comparison.at
    const condensed = yield* condense({ engine, disk, folder, generation, journaledUpTo, bytesMin }, comparison)
    this.state.journalBytes = await bytesOf(disk, await filesIn(disk, folder))
    if (condensed === undefined) return
    if ('neededBytes' in condensed) onEvent({ what: 'no room', ...condensed })
    else onEvent({ what: 'condensed', ...condensed })
  }

  async #hasSpace(): Promise<boolean> {
    const { engine, disk, folder, onEvent } = this.#options
    const neededBytes = HEADROOM_BYTES + ((await engine.statistics?.())?.usedBytes ?? 0) + this.state.journalBytes
    if ((await disk.free(folder)) >= neededBytes) return true
    onEvent({ what: 'no room', neededBytes })
    return false
  }

  /** Removes snapshots, journals and notes that the kept snapshots make obsolete. */
  async #removeObsolete({ journals: read, notes }: Comparison): Promise<void> {
    const { engine, disk, folder, journal: own } = this.#options
    await removeNotes(engine, notes)
    const files = await filesIn(disk, folder)
    for (const { path } of files.snapshots.slice(SNAPSHOTS_KEPT)) await disk.remove(path)
    const oldest = files.snapshots[SNAPSHOTS_KEPT - 1]
    if (oldest === undefined) return
    // With only one snapshot since the bypass, the older one may still be needed.
    if (oldest.generation >= (files.bypassedBefore ?? 0))
      for (const path of files.bypassMarkers) await disk.remove(path)
    const covered = { ...oldest, seq: Number.POSITIVE_INFINITY }
    for (const file of files.journals) {
      const last = read.lastOrder.get(file.path)
      // The last file of a running process is appended to and identifies its stamps.
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
