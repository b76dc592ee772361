/** Who keeps a record of the requests of a process that serves them. */
import { DIALECTS } from './edge/dialect.ts'
import { realDisk } from './lib/disk.ts'
import type { ObjectServerOptions } from './object-server.ts'
import { OPERATIONS } from './operations/index.ts'
import type { Store } from './store/store.ts'
import type { Sample } from './telemetry/families.ts'
import { ProcessMeasures } from './telemetry/process-measures.ts'
import type { Watchers } from './telemetry/recording.ts'
import { RequestMeasures } from './telemetry/request-measures.ts'

export interface Watching {
  readonly watchers: Omit<Watchers, 'log'>
  samples(): Promise<Sample[]>
  stop(): void
}

export function watch(store: Store, { role }: Pick<ObjectServerOptions, 'role'>): Watching {
  const measures = new RequestMeasures(
    OPERATIONS.map(({ name }) => name),
    Object.keys(DIALECTS),
  )
  const process = new ProcessMeasures(role, realDisk)
  return {
    watchers: { measures },
    async samples() {
      const refusals: Sample = ['holdfast_lock_refusals_total', '', store.engine.refusals.total]
      return [...measures.samples(), refusals, ...(await process.samples())]
    },
    stop: () => process.stop(),
  }
}
