/** A full check started by an administrator, its progress and its findings. */

import { Stopped } from '../lib/pacer.ts'
import { OnlineFsck, type OnlineFsckOptions } from '../maintenance/online-fsck.ts'
import type { Damage } from '../maintenance/scrub.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Sample } from '../telemetry/families.ts'

/** Bounds the reported findings; the counts are not bounded. */
const SHOWN_MAX = 1000

interface FsckFound {
  /** Broken invariants and damaged records. */
  problemCount: number
  readonly problems: string[]
  damageCount: number
  readonly damage: Damage[]
  /** Versions under a legal hold. */
  held: number
}

interface FsckState extends Readonly<FsckFound> {
  readonly state: 'never' | 'running' | 'done' | 'stopped' | 'failed'
  readonly phase?: 'records' | 'bytes'
  /** Every stored byte is read, too. */
  readonly deep?: boolean
  readonly startedAt?: string
  readonly endedAt?: string
  readonly records: number
  readonly bytes: number
  /** Known once the records have been checked. */
  readonly versions?: number
  readonly blobs?: number
  readonly totalBytes?: number
  readonly error?: string
}

interface FsckRun {
  readonly fsck: OnlineFsck
  readonly found: FsckFound
  readonly deep: boolean
  readonly startedAt: string
  readonly stopper: AbortController
  end?: Pick<FsckState, 'state' | 'endedAt' | 'error'>
}

const foundNothing = (): FsckFound => ({ problemCount: 0, problems: [], damageCount: 0, damage: [], held: 0 })

export class FsckRound {
  readonly #context: StoreContext
  readonly #snapshot: OnlineFsckOptions['snapshot']
  #run: FsckRun | undefined
  #running: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(context: StoreContext, snapshot: OnlineFsckOptions['snapshot']) {
    this.#context = context
    this.#snapshot = snapshot
  }

  get state(): FsckState {
    if (this.#run === undefined) return { state: 'never', records: 0, bytes: 0, ...foundNothing() }
    const { fsck, found, deep, startedAt, end } = this.#run
    const { records, bytes, phase, counts } = fsck
    const totals = counts && { versions: counts.objects, blobs: counts.blobs, totalBytes: counts.bytes }
    return { state: 'running', phase, deep, startedAt, records, bytes, ...totals, ...found, ...end }
  }

  samples(): Sample[] {
    const { problemCount = 0, damageCount = 0 } = this.#run?.found ?? {}
    return [
      ['holdfast_fsck_running', '', this.#isRunning ? 1 : 0],
      ['holdfast_fsck_findings', '', problemCount + damageCount],
    ]
  }

  get #isRunning(): boolean {
    return this.#run !== undefined && this.#run.end === undefined
  }

  /** Starts a check unless one is running, whose state is returned instead. */
  start(deep: boolean): FsckState {
    if (this.#isRunning || this.#isClosed) return this.state
    const context = this.#context
    const found = foundNothing()
    const stopper = new AbortController()
    const findings = {
      problem: (text: string) => {
        if (found.problemCount++ < SHOWN_MAX) found.problems.push(text)
      },
      damage: (damage: Damage) => {
        if (found.damageCount++ < SHOWN_MAX) found.damage.push(damage)
      },
      held: () => {
        found.held++
      },
    }
    const fsck = new OnlineFsck({ context, snapshot: this.#snapshot, findings, deep, signal: stopper.signal })
    const run: FsckRun = { fsck, found, deep, stopper, startedAt: new Date(context.clock.now()).toISOString() }
    this.#run = run
    this.#running = fsck.run().then(
      () => this.#end(run, { state: 'done' }),
      (error: unknown) =>
        this.#end(run, error instanceof Stopped ? { state: 'stopped' } : { state: 'failed', error: String(error) }),
    )
    return this.state
  }

  #end(run: FsckRun, end: Pick<FsckState, 'state' | 'error'>): void {
    run.end = { ...end, endedAt: new Date(this.#context.clock.now()).toISOString() }
  }

  /** Resolves once it has ended; what it found until then is kept. */
  async stop(): Promise<FsckState> {
    this.#run?.stopper.abort()
    await this.#running
    return this.state
  }

  /** Called before the store is closed. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.stop()
  }

  ended(): Promise<void> {
    return this.#running
  }
}
