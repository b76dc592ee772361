/** Frees garbage once every reader that might still use it has left. */

import { type Entry, OutcomeUnknown } from '../meta/meta.ts'
import { OwnershipLost } from '../store/commit/fenced-meta.ts'
import { keyRanges } from '../store/commit/record-keys.ts'
import type { Epoch } from '../store/reclaim/reclamation-barrier.ts'
import { releaseGarbage } from '../store/reclaim/release-garbage.ts'
import type { StoreContext } from '../store/store-context.ts'
import type { MaintenanceStep } from './maintenance-step.ts'
import { readPage } from './records.ts'

/** Across gateways an epoch takes seconds to pass, however many records wait for it. */
const COLLECTED_MAX = 8192
const RECORDS_PER_SCAN = 256
const RECORDS_PER_STEP = 256
/** Large files take long to be freed, and neither a stop nor a backup waits for 256 of them. */
const STEP_MS_MAX = 1_000
/** Their commits are written together. */
const RELEASES_AT_ONCE = 8

export class Reclaimer implements MaintenanceStep {
  readonly #context: StoreContext
  #collected: readonly Entry[] = []
  /** Readers active when the records were read may have seen what they reference, or be about to name it. */
  #epoch: Epoch | undefined
  #cursor = keyRanges.kind('g').start
  /** The scan has reached the last record: the round ends once all that was collected is released. */
  #isAtEnd = false
  #freedAny = false
  /** Bytes of packed blobs freed so far. Their volumes take up space until they are compacted. */
  packedBytesFreed = 0
  /** Garbage that could not be freed, and the reason of the last failure. */
  failures = 0
  lastFailure: unknown

  constructor(context: StoreContext) {
    this.#context = context
  }

  async step(): Promise<'busy' | 'idle'> {
    if (this.#collected.length === 0) {
      if (this.#context.reclamationLock.isHeld) return 'idle'
      if (this.#isAtEnd || !(await this.#collect())) return this.#endRound()
    }
    if (this.#epoch?.hasPassed() === false) return 'idle'
    const freed = await this.#context.reclamationLock.free(() => this.#releaseSome())
    return freed ? 'busy' : 'idle'
  }

  /**
   * Reads the next records. A round ends at the last one, even if more has been added behind it: each process adds its
   * own in order, so the garbage of one that sorts earlier would wait for as long as another one adds some.
   */
  async #collect(): Promise<boolean> {
    const { start, end } = keyRanges.kind('g')
    const collected: Entry[] = []
    let isMore = true
    while (isMore && collected.length < COLLECTED_MAX) {
      const page = await readPage(this.#context, { start: this.#cursor, end }, RECORDS_PER_SCAN)
      if (page.damaged !== undefined) this.#recordFailure(page.damaged)
      collected.push(...page.entries)
      this.#cursor = page.next ?? start
      isMore = page.next !== undefined
    }
    this.#isAtEnd = !isMore
    this.#collected = collected
    this.#epoch = collected.length === 0 ? undefined : this.#context.reclamation.epoch('readers')
    return collected.length > 0
  }

  async #releaseSome(): Promise<void> {
    const { clock } = this.#context
    const since = clock.elapsed()
    const collected = this.#collected
    // The rest is collected again if a release throws.
    this.#collected = []
    let at = 0
    while (at < Math.min(RECORDS_PER_STEP, collected.length) && clock.elapsed() - since < STEP_MS_MAX) {
      const releases = collected.slice(at, at + RELEASES_AT_ONCE).map(entry => this.#release(entry))
      // None of them continues after the lock is released.
      await Promise.allSettled(releases)
      await Promise.all(releases)
      at += RELEASES_AT_ONCE
    }
    this.#collected = collected.slice(at)
  }

  /** Releasing may add garbage before the cursor, so a round that freed anything is followed by another. */
  #endRound(): 'busy' | 'idle' {
    this.#isAtEnd = false
    const again = this.#freedAny
    this.#freedAny = false
    return again ? 'busy' : 'idle'
  }

  /** A failed release is recorded and retried in the next round; others do not wait for it. */
  async #release(entry: Entry): Promise<void> {
    try {
      const packedBytes = await releaseGarbage(this.#context, entry)
      this.packedBytesFreed += packedBytes
      this.#freedAny = true
    } catch (error) {
      if (error instanceof OutcomeUnknown || error instanceof OwnershipLost) throw error
      this.#recordFailure(error)
    }
  }

  #recordFailure(error: unknown): void {
    this.failures++
    this.lastFailure = error
  }
}
