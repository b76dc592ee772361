/** Who keeps a record of the requests of a process that serves them. */

import { DIALECTS } from '../edge/dialect.ts'
import { systemClock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { Store } from '../store/store.ts'
import { AccessLog } from '../telemetry/access-log.ts'
import type { RecorderSinks } from '../telemetry/exchange-recorder.ts'
import type { Sample } from '../telemetry/families.ts'
import { ProcessMetrics, type Role } from '../telemetry/process-metrics.ts'
import { RequestMetrics } from '../telemetry/request-metrics.ts'
import { Tracer } from '../telemetry/tracer.ts'
import { openAudit } from './audit-file.ts'
import type { Config } from './config.ts'
import type { Log } from './log.ts'

/** So long lines of server access logs come together. */
const DELIVER_MS = 60_000

export interface RequestRecorders {
  readonly watchers: Omit<RecorderSinks, 'log'>
  samples(): Promise<Sample[]>
  /** Files that somebody may have moved away are opened anew. */
  reopen(): void
  stop(): Promise<void>
}

export interface RecordersOptions {
  readonly config: Pick<Config, 'auditLog' | 'tracing'>
  readonly role: Role
}

export function openRecorders(store: Store, { config, role }: RecordersOptions, tell: Log): RequestRecorders {
  const { auditLog, tracing } = config
  const measures = new RequestMetrics(
    OPERATIONS.map(({ name }) => name),
    Object.keys(DIALECTS),
  )
  const audit = openAudit(auditLog, tell)
  const onError = (error: unknown): void => tell.log({ level: 'warn', traces: String(error) })
  const tracer = tracing === undefined ? undefined : new Tracer(tracing, systemClock, onError)
  const accessLog = new AccessLog(store, (bucket, error) =>
    tell.log({ level: 'warn', accessLog: bucket, error: String(error) }),
  )
  const delivering = setInterval(() => void accessLog.deliver(), DELIVER_MS)
  const process = new ProcessMetrics(role, realDisk)
  return {
    watchers: { measures, audit: audit?.log, tracer, accessLog },
    async samples() {
      const refusals: Sample = ['holdfast_lock_refusals_total', '', store.context.refusals.total]
      const more = [...accessLog.samples(), ...(audit?.log.samples() ?? []), ...(tracer?.samples() ?? [])]
      return [...measures.samples(), refusals, ...more, ...(await process.samples())]
    },
    reopen: () => audit?.reopen(),
    async stop() {
      process.stop()
      clearInterval(delivering)
      await accessLog.deliver()
      await tracer?.stop()
      audit?.close()
    },
  }
}
