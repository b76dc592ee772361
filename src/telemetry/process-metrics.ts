/** Resource usage and event loop delay of a process. */
import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { Clock } from '../lib/clock.ts'
import type { Disk } from '../lib/disk.ts'
import { DELAY_INCLUDES_INTERVAL } from '../lib/runtime.ts'
import { DELAY_WINDOW_MS, EventLoopDelay } from './event-loop-delay.ts'
import { labelled, type Sample } from './families.ts'

export type Role = 'server' | 'supervisor' | 'worker'

const RESOLUTION_MS = 10
const NANOSECONDS = 1e9
const PAUSE_SECONDS = DELAY_INCLUDES_INTERVAL ? RESOLUTION_MS / 1000 : 0

export class ProcessMetrics {
  readonly #role: Role
  readonly #disk: Disk
  readonly #histogram: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  readonly #delay = new EventLoopDelay(this.#histogram)
  readonly #clock: Clock
  #cancelWindow: () => void = () => {}

  constructor(role: Role, disk: Disk, clock: Clock) {
    this.#role = role
    this.#disk = disk
    this.#clock = clock
    this.#histogram.enable()
    this.#beginWindow()
  }

  #beginWindow(): void {
    this.#cancelWindow = this.#clock.after(DELAY_WINDOW_MS, () => {
      this.#delay.rotate()
      this.#beginWindow()
    })
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
    const points = this.#delay.points()
    if (points === undefined) return []
    return [shown('0.5', points.median), shown('0.99', points.percentile99), shown('max', points.max)]
  }

  stop(): void {
    this.#cancelWindow()
    this.#histogram.disable()
  }
}
