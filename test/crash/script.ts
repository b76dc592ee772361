/** Runs operations on one store, one at a time, and records the expected state. */
import { OutcomeUnknown } from '../../src/meta/meta.ts'
import { Fault } from '../../src/model/faults.ts'
import { mustRefuse } from './choose.ts'
import { Expectation, type Operation } from './model.ts'
import { observeKey } from './observe.ts'
import { perform } from './perform.ts'
import type { Process } from './world.ts'

export class Script {
  readonly process: Process
  readonly expectation: Expectation
  readonly problems: string[] = []
  failed = 0
  /** Set when the process would have ended itself. */
  stopped = false

  constructor(process: Process, expectation = new Expectation()) {
    this.process = process
    this.expectation = expectation
  }

  async run(operation: Operation): Promise<void> {
    if (this.stopped) return
    const { store } = this.process
    const refusable = mustRefuse(operation, this.expectation.state(operation.to))
    this.expectation.begin(operation)
    try {
      const id = await perform(store, operation)
      if (refusable) this.problems.push('a held version was removed')
      this.expectation.acknowledge(operation, id)
    } catch (error) {
      if (refusable && error instanceof Fault && error.code === 'AccessDenied') this.expectation.refuse(operation)
      else await this.#failed(operation, error)
    }
  }

  /** An unknown outcome stays open until the restart. After every other failure nothing may have changed. */
  async #failed(operation: Operation, error: unknown): Promise<void> {
    this.failed++
    if (error instanceof OutcomeUnknown) {
      this.stopped = true
      return
    }
    this.expectation.refuse(operation)
    const different = await observeKey(this.process.store, this.expectation, operation.to)
    if (different !== undefined) this.problems.push(`after ${error}: ${different}`)
  }

  /** For maintenance and the like: a failure would only be logged, and the next round continues. */
  async attempt(step: () => Promise<unknown>): Promise<void> {
    if (this.stopped) return
    try {
      await step()
    } catch (error) {
      this.failed++
      if (error instanceof OutcomeUnknown) this.stopped = true
    }
  }
}
