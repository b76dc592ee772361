/** Opens the metrics, logs and traces that record the requests of a serving process. */

import { DIALECTS } from '../edge/dialect.ts'
import { systemClock } from '../lib/clock.ts'
import { realDisk } from '../lib/disk.ts'
import { OPERATIONS } from '../operations/index.ts'
import type { Store } from '../store/store.ts'
import { AccessLog } from '../telemetry/access-log.ts'
import type { RecorderSinks } from '../telemetry/exchange-recorder.ts'
import { RequestMetrics } from '../telemetry/exchange-recorder.ts'
import type { Sample } from '../telemetry/families.ts'
import { ProcessMetrics, type Role } from '../telemetry/process-metrics.ts'
import { remoteMetrics } from '../telemetry/remote-metrics.ts'
import { Tracer } from '../telemetry/tracer.ts'
import { openAudit } from './audit-file.ts'
import type { Config } from './config.ts'
import type { Logger } from './log.ts'

/** Interval of access log deliveries. */
const DELIVER_MS = 60_000

interface RequestRecorders {
  readonly sinks: Omit<RecorderSinks, 'logger'>
  samples(): Promise<Sample[]>
  /** Reopens files that log rotation may have moved. */
  reopen(): void
  stop(): Promise<void>
}

interface RecordersOptions {
  readonly config: Pick<Config, 'auditLog' | 'tracing'>
  readonly role: Role
}

export function openRecorders(store: Store, { config, role }: RecordersOptions, logger: Logger): RequestRecorders {
  const { auditLog, tracing } = config
  const metrics = new RequestMetrics(
    OPERATIONS.map(({ name }) => name),
    Object.keys(DIALECTS),
  )
  const audit = openAudit(auditLog, logger)
  const onError = (error: unknown): void => logger.log({ level: 'warn', traces: String(error) })
  const tracer = tracing === undefined ? undefined : new Tracer(tracing, systemClock, onError)
  const accessLog = new AccessLog(store, (bucket, error) =>
    logger.log({ level: 'warn', accessLog: bucket, error: String(error) }),
  )
  const delivering = setInterval(() => void accessLog.deliver(), DELIVER_MS)
  const process = new ProcessMetrics(role, realDisk, systemClock)
  return {
    sinks: { metrics, audit: audit?.log, tracer, accessLog },
    async samples() {
      const refusals: Sample = ['holdfast_lock_refusals_total', '', store.context.refusals.total]
      const more = [...accessLog.samples(), ...(audit?.log.samples() ?? []), ...(tracer?.samples() ?? [])]
      return [...metrics.samples(), refusals, ...more, ...remoteMetrics(store.context), ...(await process.samples())]
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
