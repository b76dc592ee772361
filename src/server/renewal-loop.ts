/** Renews a membership at its interval until it is stopped or expelled. */

import type { Membership } from '../store/cluster/membership.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'

export interface RenewalEvents {
  /** The server must stop serving. */
  onLost(error: OwnershipLost): void
  /** The next round tries again; until one succeeds, others may expel this member. */
  onFailure(error: unknown): void
  /** After every round that succeeded. */
  onRound(): void
}

export class RenewalLoop {
  readonly #membership: Membership
  readonly #renewMs: number
  readonly #events: RenewalEvents
  #running: Promise<void> | undefined
  #isStopped = false
  #endPause: () => void = () => {}

  constructor(membership: Membership, renewMs: number, events: RenewalEvents) {
    this.#membership = membership
    this.#renewMs = renewMs
    this.#events = events
  }

  /** Resolves after the first round. */
  async start(): Promise<void> {
    await this.#membership.step()
    this.#running = this.#run()
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await this.#pause()
      if (this.#isStopped) return
      try {
        await this.#membership.step()
        this.#events.onRound()
      } catch (error) {
        if (error instanceof OwnershipLost) {
          this.#events.onLost(error)
          return
        }
        this.#events.onFailure(error)
      }
    }
  }

  #pause(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(resolve, this.#renewMs)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#endPause()
    await this.#running
  }
}
