/**
 * Runs the background tasks of a store in one server at a time. In a cluster that is the leader, whose commits also
 * check that it still leads: a leader that was suspended for an hour frees nothing when it wakes.
 */
import type { Membership } from '../store/cluster/membership.ts'
import { LostRecordGuard } from '../store/commit/lost-record-guard.ts'
import type { Store } from '../store/store.ts'
import type { Sample } from '../telemetry/families.ts'
import type { OwnedFolder } from './compose.ts'
import type { Logger } from './log.ts'
import { Maintenance, maintenanceTasks, sweepTask, usageTask } from './maintenance.ts'
import type { MaintenanceTask } from './maintenance-task.ts'
import { copyTask } from './second-copy.ts'

export interface StoreMaintenance {
  samples(): Sample[]
  /** Bytes may have lost their writer. */
  sweepSoon(): void
  /** Resolves when the current steps are done. */
  stop(): Promise<void>
}

interface MaintenanceOptions {
  readonly folder: OwnedFolder
  readonly isCluster: boolean
  /** Tasks that every server runs for itself. */
  readonly local: readonly MaintenanceTask[]
}

export function startMaintenance({ folder, isCluster, local }: MaintenanceOptions, logger: Logger): StoreMaintenance {
  const { membership } = folder
  const isShared = isCluster && membership !== undefined
  const shared = isShared ? new LeaderMaintenance(membership, folder, logger) : startTasks(folder.store, folder, logger)
  const own = new Maintenance(local, logger)
  return {
    samples: () => [...own.samples(), ...shared.samples()],
    sweepSoon: () => shared.sweepSoon(),
    async stop() {
      await shared.stop()
      await own.stop()
    },
  }
}

function startTasks(store: Store, folder: OwnedFolder, logger: Logger): StoreMaintenance {
  const sweeping = sweepTask(store)
  const usage = usageTask({ store, snapshot: folder.snapshot })
  const copying = copyTask(folder.copy, store.context, logger)
  const maintenance = new Maintenance([...maintenanceTasks(store, logger), usage, sweeping, ...copying], logger)
  return {
    samples: () => maintenance.samples(),
    sweepSoon: () => maintenance.wake(sweeping),
    stop: () => maintenance.stop(),
  }
}

class LeaderMaintenance implements StoreMaintenance {
  readonly #membership: Membership
  readonly #folder: OwnedFolder
  readonly #logger: Logger
  #running: StoreMaintenance | undefined
  #changing: Promise<void> = Promise.resolve()

  constructor(membership: Membership, folder: OwnedFolder, logger: Logger) {
    this.#membership = membership
    this.#folder = folder
    this.#logger = logger
    membership.onStep(() => this.#update())
    this.#update()
  }

  #update(): void {
    this.#changing = this.#changing.then(() => this.#follow())
  }

  sweepSoon(): void {
    this.#running?.sweepSoon()
  }

  async #follow(): Promise<void> {
    const meta = this.#membership.leaderMeta
    if (meta !== undefined && this.#running === undefined) {
      this.#logger.log({ level: 'info', message: 'this gateway leads the cluster and runs its maintenance' })
      const { store } = this.#folder
      const leading = store.forRequest(new LostRecordGuard(meta, store.context.losses))
      this.#running = startTasks(leading, this.#folder, this.#logger)
    } else if (meta === undefined && this.#running !== undefined) {
      this.#logger.log({ level: 'info', message: 'another gateway leads the cluster' })
      await this.#end()
    }
  }

  async #end(): Promise<void> {
    const running = this.#running
    this.#running = undefined
    await running?.stop()
  }

  samples(): Sample[] {
    return this.#running?.samples() ?? []
  }

  async stop(): Promise<void> {
    await this.#changing
    await this.#end()
  }
}
