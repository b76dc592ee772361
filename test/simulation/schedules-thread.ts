/** A thread that runs every n-th schedule and reports those that violate something. */
import { parentPort, workerData } from 'node:worker_threads'
import { ALL_MECHANISMS } from './gateway.ts'
import { gatewaysOf, violationsOf } from './schedule.ts'

export interface Share {
  readonly from: number
  /** Exclusive. */
  readonly to: number
  readonly step: number
  /** The same for all schedules, unless each seed chooses for itself. */
  readonly gateways: number | undefined
}

export interface Violated {
  readonly seed: number
  readonly gateways: number
  readonly violations: readonly string[]
}

const share = workerData as Share
for (let seed = share.from; seed < share.to; seed += share.step) {
  const gateways = share.gateways ?? gatewaysOf(seed)
  const violations = await violationsOf(seed, gateways, ALL_MECHANISMS)
  const report: Violated = { seed, gateways, violations }
  if (violations.length > 0) parentPort!.postMessage(report)
}
