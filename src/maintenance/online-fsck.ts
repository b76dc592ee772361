/**
 * The full check of a store in use. The invariants are checked over one snapshot of the records, by the rules of
 * `fsck`; until that is done, nothing it names is freed. Then the snapshot ends, and bytes are read as a scrub reads
 * them: by the records of the moment, which needs no snapshot.
 */
import { Pacer } from '../lib/pacer.ts'
import type { Snapshot } from '../meta/meta.ts'
import { unguarded } from '../store/commit/lost-record-guard.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Findings } from './findings.ts'
import { checkInvariants, type FsckCounts } from './fsck.ts'
import { PacedReads } from './paced-reads.ts'
import { type Damage, Scrubber } from './scrub.ts'

interface OnlineFindings extends Findings {
  damage(found: Damage): void
}

export interface OnlineFsckOptions {
  readonly context: StoreContext
  readonly snapshot: () => Promise<Snapshot>
  readonly findings: OnlineFindings
  /** Also reads every stored byte. */
  readonly deep: boolean
  readonly signal: AbortSignal
}

export class OnlineFsck {
  readonly #options: OnlineFsckOptions
  readonly #pacer: Pacer
  #reads: PacedReads | undefined
  #scrubber: Scrubber | undefined
  /** Known once the invariants have been checked. */
  counts: FsckCounts | undefined

  constructor(options: OnlineFsckOptions) {
    this.#options = options
    this.#pacer = new Pacer(options.context.clock, options.signal)
  }

  /** Records read so far; those that are read again count again. */
  get records(): number {
    return this.#reads?.records ?? 0
  }

  /** Stored bytes read so far. */
  get bytes(): number {
    return this.#scrubber?.bytes ?? 0
  }

  get phase(): 'records' | 'bytes' {
    return this.#scrubber === undefined ? 'records' : 'bytes'
  }

  /** Throws `Stopped` soon after its signal. */
  async run(): Promise<void> {
    await this.#checkRecords()
    if (this.#options.deep) await this.#readBytes()
  }

  async #checkRecords(): Promise<void> {
    const { context, findings } = this.#options
    const { pace } = this.#pacer
    const release = await context.reclamationLock.hold()
    try {
      const snapshot = await this.#options.snapshot()
      try {
        this.#reads = new PacedReads(snapshot, pace)
        this.counts = await checkInvariants({ ...context, meta: this.#reads }, findings, { pace })
      } finally {
        await snapshot.end()
      }
    } finally {
      release()
    }
  }

  async #readBytes(): Promise<void> {
    const { context, findings } = this.#options
    const { pace } = this.#pacer
    const { meta } = unguarded(context)
    const reads = new PacedReads({ scan: (range, limit) => meta.scan(range, limit) }, pace)
    const scrubber = new Scrubber({ ...context, meta: reads }, pace)
    this.#scrubber = scrubber
    for (let busy = true; busy; ) {
      busy = (await scrubber.step()) === 'busy'
      for (const damage of await scrubber.report()) findings.damage(damage)
    }
  }
}
