/** A scrub round started by an administrator, and its progress. */

import { type Damage, Scrubber } from '../maintenance/scrub.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { Sample } from '../telemetry/families.ts'

/** Bounds the reported findings; the count is not bounded. */
const SHOWN_MAX = 1000

interface ScrubState {
  readonly state: 'never' | 'running' | 'done' | 'failed'
  readonly startedAt?: string
  readonly endedAt?: string
  readonly records: number
  readonly bytes: number
  readonly damaged: number
  readonly damage: readonly Damage[]
  readonly error?: string
}

export class ScrubRound {
  readonly #context: StoreContext
  #state: ScrubState = { state: 'never', records: 0, bytes: 0, damaged: 0, damage: [] }
  #stopped = false
  #running: Promise<void> = Promise.resolve()

  constructor(context: StoreContext) {
    this.#context = context
  }

  get state(): ScrubState {
    return this.#state
  }

  samples(): Sample[] {
    const { state, records, bytes, damaged } = this.#state
    return [
      ['holdfast_scrub_running', '', state === 'running' ? 1 : 0],
      ['holdfast_scrub_records', '', records],
      ['holdfast_scrub_bytes', '', bytes],
      ['holdfast_scrub_damaged', '', damaged],
    ]
  }

  /** Starts a round unless one is running, whose state is returned instead. */
  start(): ScrubState {
    if (this.#state.state === 'running' || this.#stopped) return this.#state
    const startedAt = new Date(this.#context.clock.now()).toISOString()
    this.#state = { state: 'running', startedAt, records: 0, bytes: 0, damaged: 0, damage: [] }
    this.#running = this.#run().catch((error: unknown) => this.#end('failed', { error: String(error) }))
    return this.#state
  }

  async #run(): Promise<void> {
    const scrubber = new Scrubber(this.#context)
    for (let busy = true; busy && !this.#stopped; ) {
      busy = (await scrubber.step()) === 'busy'
      const found = await scrubber.report()
      this.#state = {
        ...this.#state,
        records: scrubber.records,
        bytes: scrubber.bytes,
        damaged: this.#state.damaged + found.length,
        damage: [...this.#state.damage, ...found].slice(0, SHOWN_MAX),
      }
      // Yields to requests.
      await this.#context.clock.sleep(1)
    }
    if (this.#stopped) this.#end('failed', { error: 'the server was stopped' })
    else this.#end('done', {})
  }

  #end(state: 'done' | 'failed', more: { readonly error?: string }): void {
    this.#state = { ...this.#state, ...more, state, endedAt: new Date(this.#context.clock.now()).toISOString() }
  }

  /** Resolves when the current step is done. */
  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }

  ended(): Promise<void> {
    return this.#running
  }
}
