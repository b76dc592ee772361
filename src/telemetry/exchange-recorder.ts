/** Hands what happened to a request to everybody who keeps a record of it. */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { Recorder } from '../edge/recorder.ts'
import type { RequestState } from '../edge/request-state.ts'
import type { AccessLog } from './access-log.ts'
import type { AuditLog } from './audit-log.ts'
import { RequestLine } from './request-log.ts'
import type { RequestMetrics } from './request-metrics.ts'
import type { Tracer } from './tracer.ts'

export interface RecorderSinks {
  readonly log: (line: Readonly<Record<string, unknown>>) => void
  readonly measures?: RequestMetrics
  readonly audit?: AuditLog | undefined
  readonly tracer?: Tracer | undefined
  readonly accessLog?: AccessLog | undefined
}

export class ExchangeRecorder implements Recorder {
  readonly #watchers: RecorderSinks

  constructor(watchers: RecorderSinks) {
    this.#watchers = watchers
  }

  begun(): void {
    this.#watchers.measures?.begun()
  }

  decided(state: RequestState, exchange: ExchangeRecord): void {
    const { log, audit } = this.#watchers
    log(new RequestLine(state, exchange))
    audit?.decided(state, exchange)
  }

  ended(state: RequestState, exchange: ExchangeRecord): void {
    const { measures, tracer, accessLog } = this.#watchers
    measures?.ended(state, exchange)
    tracer?.ended(state, exchange)
    accessLog?.ended(state, exchange)
  }

  left(): void {
    this.#watchers.measures?.left()
  }
}
