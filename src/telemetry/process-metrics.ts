/** Resource usage and event loop delay of a process. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Disk } from '../lib/disk.ts'
import { DELAY_INCLUDES_INTERVAL } from '../lib/runtime.ts'
import { labelled, type Sample } from './families.ts'

export type Role = 'server' | 'supervisor' | 'worker'

const RESOLUTION_MS = 10
const NANOSECONDS = 1e9
const PAUSE_SECONDS = DELAY_INCLUDES_INTERVAL ? RESOLUTION_MS / 1000 : 0

export class ProcessMetrics {
  readonly #role: Role
  readonly #disk: Disk
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })

  constructor(role: Role, disk: Disk) {
    this.#role = role
    this.#disk = disk
    this.#delay.enable()
  }

  async samples(): Promise<Sample[]> {
    const role = labelled({ role: this.#role })
    const { rss, heapUsed, external } = process.memoryUsage()
    const { user, system } = process.cpuUsage()
    // Only Linux has this folder; elsewhere the metric is omitted.
    const files = (await this.#disk.list('/proc/self/fd')).length
    const started = performance.timeOrigin / 1000
    return [
      ['holdfast_processes', role, 1],
      ['holdfast_process_start_time_seconds', role, started],
      ['holdfast_process_cpu_seconds_total', role, (user + system) / 1e6],
      ['holdfast_process_resident_bytes', role, rss],
      ['holdfast_process_heap_bytes', role, heapUsed],
      ['holdfast_process_external_bytes', role, external],
      ...(files === 0 ? [] : [['holdfast_process_open_files', role, files] as Sample]),
      ...this.#delays(),
    ]
  }

  #delays(): Sample[] {
    const seconds = (nanoseconds: number): number => Math.max(0, nanoseconds / NANOSECONDS - PAUSE_SECONDS)
    const shown = (point: string, value: number): Sample => [
      'holdfast_event_loop_delay_seconds',
      labelled({ role: this.#role, point }),
      seconds(value),
    ]
    const isEmpty = this.#delay.max === 0
    const out = isEmpty
      ? []
      : [
          shown('0.5', this.#delay.percentile(50)),
          shown('0.99', this.#delay.percentile(99)),
          shown('max', this.#delay.max),
        ]
    this.#delay.reset()
    return out
  }

  stop(): void {
    this.#delay.disable()
  }
}
