/** The simulated database. When its primary dies, a synchronous standby has everything that was acknowledged. */
import type { Meta, Minitransaction, Write } from '../../src/meta/meta.ts'
import type { Scheduler } from './scheduler.ts'

/** The time by which a standby that is not synchronous lags behind. */
const LAG_MS = 300

interface Undo {
  readonly at: number
  readonly writes: readonly Write[]
}

export class Database {
  readonly meta: Meta
  readonly #engine: Meta
  readonly #scheduler: Scheduler
  #recent: Undo[] = []

  constructor(engine: Meta, scheduler: Scheduler) {
    this.#engine = engine
    this.#scheduler = scheduler
    this.meta = {
      get: key => engine.get(key),
      scan: (range, limit, reverse) => engine.scan(range, limit, reverse),
      scanMap: (range, limit, make) => engine.scanMap(range, limit, make),
      commit: tx => this.#commit(tx),
      close: () => engine.close(),
    }
  }

  async #commit(tx: Minitransaction): Promise<boolean> {
    const before: Write[] = []
    for (const { key } of tx.writes) before.push({ key, value: (await this.#engine.get(key))?.value })
    const isCommitted = await this.#engine.commit(tx)
    const now = this.#scheduler.now
    if (isCommitted)
      this.#recent = [...this.#recent.filter(({ at }) => now - at <= LAG_MS), { at: now, writes: before }]
    return isCommitted
  }

  /** Loses the last commits, as a failover to a standby that lags. */
  async loseRecent(): Promise<void> {
    for (const { writes } of this.#recent.reverse()) await this.#engine.commit({ checks: [], writes })
    this.#recent = []
  }
}
