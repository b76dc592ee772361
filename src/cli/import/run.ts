/** Runs an import: prepares the target, copies missing versions, compares both sides. */
import { systemClock } from '../../lib/clock.ts'
import type { S3Client } from '../../s3/client.ts'
import { isTransient, RequestRefused, ResponseDamaged } from '../../s3/responses.ts'
import { backoffMs } from '../../s3/retries.ts'
import { CommandFailed } from '../failures.ts'
import { readSourceBucket, readyTarget, type SourceBucket, sourceCanonicalId, withPlace } from './buckets.ts'
import { historyOf, keyVersions, type ListedEntry, type Pair, paired } from './listing.ts'
import { compareLocks } from './locks.ts'
import type { Progress } from './progress.ts'
import { Report } from './report.ts'
import { carrySettings } from './settings.ts'
import { SourceUnreadable, SourceVanished } from './source-errors.ts'
import type { State } from './state.ts'
import { Transfer, type TransferEndpoints } from './transfer.ts'
import { planTransfer, type RememberedTransfers } from './transfer-plan.ts'

interface Import {
  readonly source: S3Client
  readonly target: S3Client
  readonly prefix: string
  readonly inFlight: number
  readonly state: State
  readonly progress: Progress
  readonly currentOnly: boolean
  readonly withSettings: boolean
  readonly withoutLists: boolean
  /** Replaces objects that differ; only in a bucket without versioning. */
  readonly overwrite: boolean
  readonly skipUnreadable: boolean
  /** Dry run: nothing is written. */
  readonly onlyCompare: boolean
}

const TRIES_MAX = 5

/** Runs a bounded number of tasks at a time; the first permanent failure ends all. */
async function eachInFlight<T>(items: AsyncGenerator<T>, many: number, work: (item: T) => Promise<void>) {
  let failure: unknown
  const worker = async (): Promise<void> => {
    while (failure === undefined) {
      const { value, done } = await items.next()
      if (done) return
      await work(value)
    }
  }
  const guarded = (): Promise<void> =>
    worker().catch((error: unknown) => {
      failure ??= error
    })
  await Promise.all(Array.from({ length: many }, guarded))
  if (failure !== undefined) throw failure
}

interface Facts {
  readonly source: SourceBucket
  readonly target: SourceBucket
}

class Run {
  readonly #import: Import
  readonly #report = new Report()
  readonly #facts: Facts
  readonly #sides: TransferEndpoints
  readonly #transfer: Transfer
  readonly #currentOnly: boolean

  constructor(what: Import, facts: Facts, newOwner: string | undefined) {
    this.#import = what
    this.#facts = facts
    this.#currentOnly = what.currentOnly || facts.source.versioning === 'off'
    this.#sides = {
      source: what.source,
      target: what.target,
      sourceHasLock: facts.source.hasLock,
      targetHasLock: facts.target.hasLock,
      carriesLists: !what.withoutLists && !facts.source.ignoresLists,
      newOwner,
    }
    this.#transfer = new Transfer(this.#sides, what.state, this.#report)
  }

  async whole(): Promise<Report> {
    const { onlyCompare, withSettings, inFlight, source, target } = this.#import
    if (!onlyCompare) {
      await this.#abortUploads()
      await eachInFlight(this.#pairs(), inFlight, pair => this.#copyKey(pair))
      if (withSettings) {
        const { versioning } = this.#facts.source
        await carrySettings({ source, target, report: this.#report, versioning, newOwner: this.#sides.newOwner })
      }
    }
    await eachInFlight(this.#pairs(), inFlight, pair => this.#compareKey(pair))
    return this.#report
  }

  /** Only for a progress bar, since it lists the source once more. */
  async count(): Promise<void> {
    let versions = 0
    for await (const history of keyVersions(this.#import.source, this.#stretch)) versions += history.versions.length
    this.#import.progress.expect(versions)
  }

  get #stretch() {
    return { prefix: this.#import.prefix, currentOnly: this.#currentOnly }
  }

  #pairs(): AsyncGenerator<Pair> {
    const { source, target } = this.#import
    return paired(keyVersions(source, this.#stretch), keyVersions(target, this.#stretch))
  }

  /** Parts of uploads that an earlier run left unfinished would use space forever. */
  async #abortUploads(): Promise<void> {
    const { target, state } = this.#import
    for (const [uploadId, key] of state.openUploads) {
      await target.requestIfPresent({ method: 'DELETE', key, query: { uploadId } }, 'NoSuchUpload')
      state.noteEnd(uploadId)
    }
  }

  #known(key: string, vanished: ReadonlySet<ListedEntry> = new Set()): RememberedTransfers {
    const { state } = this.#import
    return {
      isLeftOut: version => vanished.has(version) || state.isLeftOut(key, version),
      etagOf: version => state.etagOf(key, version),
      sameBytes: (source, target) => this.#transfer.sameBytes(key, source, target),
    }
  }

  /**
   * Brings one key up to date. After a failure the target is listed again, since a request without a response may have
   * created its version.
   */
  async #copyKey({ key, source, target: listed }: Pair): Promise<void> {
    const { target, progress, overwrite } = this.#import
    const vanished = new Set<ListedEntry>()
    let there = listed
    let at: ListedEntry | undefined
    for (let tries = 0; ; ) {
      at = undefined
      try {
        const { missing, matched, differs } = await planTransfer(source, there, this.#known(key, vanished))
        if (there === listed) {
          this.#report.present += matched.length
          progress.step(matched.length, 0)
        }
        if (differs && !(overwrite && this.#currentOnly)) {
          this.#report.failed.add({ key, why: 'the target has something else under this key' })
          return
        }
        for (const version of missing) {
          at = version
          await this.#transfer.make(key, version)
          progress.step(1, version.size)
          tries = 0
        }
        return
      } catch (error) {
        if (!(await this.#mayGoOn(key, at, error, vanished, tries++))) return
        there = await historyOf(target, key, this.#currentOnly)
      }
    }
  }

  /** Whether to retry the key after this error; otherwise it is reported. */
  async #mayGoOn(key: string, at: ListedEntry | undefined, error: unknown, vanished: Set<ListedEntry>, tries: number) {
    if (error instanceof SourceVanished && at !== undefined) {
      vanished.add(at)
      return true
    }
    const isHopeless = tries + 1 >= TRIES_MAX
    // Damaged transfers have been retried already.
    if (isTransient(error) && !isHopeless && !(error instanceof ResponseDamaged)) {
      await systemClock.sleep(backoffMs(tries, Math.random()))
      return true
    }
    const isUnreadable = error instanceof SourceUnreadable || error instanceof ResponseDamaged
    if (isUnreadable && this.#import.skipUnreadable && at !== undefined) {
      this.#import.state.leaveOut(key, at)
      return true
    }
    if (!isUnreadable && !isTransient(error) && !(error instanceof RequestRefused)) throw error
    const why = (error as Error).message
    this.#report.failed.add({
      key,
      versionId: at?.versionId,
      why: error instanceof RequestRefused ? `${why} (${error.code})` : why,
    })
    return false
  }

  async #compareKey({ key, source, target }: Pair): Promise<void> {
    const { state } = this.#import
    for (const version of source.filter(one => state.isLeftOut(key, one))) {
      this.#report.leftOut.add({ key, versionId: version.versionId, why: 'could not be read' })
    }
    try {
      const { missing, matched, differs } = await planTransfer(source, target, this.#known(key))
      this.#report.compared += matched.length
      const why = differs ? 'the target has something else in its place' : 'not there'
      for (const { versionId } of missing) this.#report.missing.add({ key, versionId, why })
      const { sourceHasLock, targetHasLock } = this.#sides
      if (!sourceHasLock || !targetHasLock) return
      for (const [version, there] of matched.filter(([one]) => !one.marker)) {
        const why = await compareLocks(this.#sides, key, version, there)
        if (why !== undefined) this.#report.missing.add({ key, versionId: version.versionId, why })
      }
    } catch (error) {
      const isTold =
        error instanceof SourceUnreadable || error instanceof SourceVanished || error instanceof RequestRefused
      if (!isTold && !isTransient(error)) throw error
      this.#report.missing.add({ key, why: `cannot be compared: ${(error as Error).message}` })
    }
  }
}

export async function runImport(what: Import, { counts }: { readonly counts: boolean }): Promise<Report> {
  const { source, target, onlyCompare } = what
  const facts = await withPlace('source', source, () => readSourceBucket(source))
  const versions = !what.currentOnly && facts.versioning !== 'off'
  const lock = facts.hasLock && !what.currentOnly
  const there = await withPlace('target', target, () =>
    readyTarget(target, { versions, lock, onlyLooking: onlyCompare }),
  )
  const newOwner = await withPlace('target', target, () => sourceCanonicalId(target))
  const run = new Run(what, { source: facts, target: there }, newOwner)
  // The import does not fail because the total is unknown.
  const counting = counts && !onlyCompare ? run.count().catch(() => {}) : undefined
  try {
    return await run.whole()
  } catch (error) {
    if (!(error instanceof RequestRefused) && !isTransient(error)) throw error
    throw new CommandFailed(`import interrupted: ${(error as Error).message}; run it again to continue`)
  } finally {
    await counting
    what.progress.end()
  }
}
