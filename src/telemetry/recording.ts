/** Hands what happened to a request to everybody who keeps a record of it. */
import type { Outcome } from '../edge/pipeline.ts'
import type { Ended, Exchange, Recorder } from '../edge/recorder.ts'
import { logLine } from './request-log.ts'
import type { RequestMeasures } from './request-measures.ts'

export interface Watchers {
  readonly log: (line: Readonly<Record<string, unknown>>) => void
  readonly measures?: RequestMeasures
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
    this.#watchers.log(logLine(outcome, exchange))
  }

  ended(outcome: Outcome, exchange: Ended): void {
    this.#watchers.measures?.ended(outcome, exchange)
  }

  left(): void {
    this.#watchers.measures?.left()
  }
}
