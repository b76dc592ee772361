/** Hands what happened to a request to everybody who keeps a record of it. */
import type { Outcome } from '../edge/outcome.ts'
import type { Ended, Exchange, Recorder } from '../edge/recorder.ts'
import type { AccessLog } from './access-log.ts'
import type { AuditLog } from './audit-log.ts'
import { RequestLine } from './request-log.ts'
import type { RequestMeasures } from './request-measures.ts'
import type { Tracer } from './tracer.ts'

export interface Watchers {
  readonly log: (line: Readonly<Record<string, unknown>>) => void
  readonly measures?: RequestMeasures
  readonly audit?: AuditLog | undefined
  readonly tracer?: Tracer | undefined
  readonly accessLog?: AccessLog | undefined
}

export class Recording implements Recorder {
  readonly #watchers: Watchers

  constructor(watchers: Watchers) {
    this.#watchers = watchers
  }

  begun(): void {
    this.#watchers.measures?.begun()
  }

  decided(outcome: Outcome, exchange: Exchange): void {
    const { log, audit } = this.#watchers
    log(new RequestLine(outcome, exchange))
    audit?.decided(outcome, exchange)
  }

  ended(outcome: Outcome, exchange: Ended): void {
    const { measures, tracer, accessLog } = this.#watchers
    measures?.ended(outcome, exchange)
    tracer?.ended(outcome, exchange)
    accessLog?.ended(outcome, exchange)
  }

  left(): void {
    this.#watchers.measures?.left()
  }
}
