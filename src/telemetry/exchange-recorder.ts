/** Passes finished requests to the log, the metrics, the audit log, the tracer and the access log. */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { Recorder } from '../edge/recorder.ts'
import type { RequestState } from '../edge/request-state.ts'
import type { AccessLog } from './access-log.ts'
import type { AuditLog } from './audit-log.ts'
import { RequestLine } from './request-log.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Tracer } from './tracer.ts'

export interface RecorderSinks {
  readonly logger: { log(line: Readonly<Record<string, unknown>>): void }
  readonly metrics?: RequestMetrics
  readonly audit?: AuditLog | undefined
  readonly tracer?: Tracer | undefined
  readonly accessLog?: AccessLog | undefined
}

export class ExchangeRecorder implements Recorder {
  readonly #sinks: RecorderSinks

  constructor(sinks: RecorderSinks) {
    this.#sinks = sinks
  }

  begun(): void {
    this.#sinks.metrics?.begun()
  }

  decided(state: RequestState, exchange: ExchangeRecord): void {
    const { logger, audit } = this.#sinks
    logger.log(new RequestLine(state, exchange))
    audit?.decided(state, exchange)
  }

  ended(state: RequestState, exchange: ExchangeRecord): void {
    const { metrics, tracer, accessLog } = this.#sinks
    metrics?.ended(state, exchange)
    tracer?.ended(state, exchange)
    // The document that turns on access logs.
    if (state.bucket?.documents.includes('logging')) accessLog?.add(state.bucket, state, exchange)
  }

  left(): void {
    this.#sinks.metrics?.left()
  }
}
