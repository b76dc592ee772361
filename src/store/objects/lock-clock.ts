/**
 * P19. The time that decides when locks end (`rules/lock-time.ts`). A mark in the store records how far time has
 * advanced; each process counts on from it by the monotonic clock. Another process may have confirmed the wall clock: a
 * process that sees it far from its own account, in either direction, rereads the mark.
 */
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Meta } from '../../meta/meta.ts'
import { type ClockMark, clockMarkFormat } from '../../model/clock-mark.ts'
import { type LedgerLockTime, STORE_LEDGER } from '../../model/ledger.ts'
import { isJump, latestTime, lockTime, nextClockMark } from '../../rules/lock-time.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import type { LedgerContext } from '../ledger/ledger-append.ts'
import type { LedgerGroupCommit } from '../ledger/ledger-group-commit.ts'

/** Tolerated drift between a correct wall clock and the monotonic clock. */
const DRIFT_MS_MAX = 60_000

interface ClockContext {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
}

/** A mark as this process read it, and the monotonic time of that read. */
interface Anchor {
  readonly mark: ClockMark
  readonly elapsed: number
}

export interface ClockState {
  readonly clock: number
  /** Retention ends by this time. */
  readonly lockTime: number
  /** The wall clock is more than a day ahead of the accounted time and has not been confirmed. */
  readonly jumped: boolean
}

export class LockClock {
  readonly #context: ClockContext
  #anchor: Anchor | undefined
  /** The last trustworthy reading of the wall clock. */
  #trusted: { readonly clock: number; readonly elapsed: number } | undefined

  constructor(context: ClockContext) {
    this.#context = context
  }

  async now(): Promise<number> {
    return (await this.state()).lockTime
  }

  /** The wall clock or the accounted time, whichever is later: no retention may begin earlier. */
  async latest(): Promise<number> {
    const { clock } = await this.state()
    return this.#context.clock.isSetOnPurpose === true ? clock : latestTime(clock, this.#accounted(this.#anchor!))
  }

  async state(): Promise<ClockState> {
    const anchor = this.#anchor ?? (await this.mark())
    const state = this.#evaluate(anchor)
    if (Math.abs(state.clock - this.#accounted(anchor)) <= DRIFT_MS_MAX) return state
    const entry = await this.#context.meta.get(recordKey.clock())
    const mark = entry && clockMarkFormat.decode(entry.value)
    if (mark !== undefined && mark.confirmed !== this.#anchor!.mark.confirmed) this.#anchorAt(mark)
    return this.#evaluate(this.#anchor!)
  }

  /**
   * Stores how far time has advanced. Once a minute is enough: time after the last mark must pass again after a crash.
   */
  async mark(): Promise<Anchor> {
    const { clock } = this.#context
    const next = (stored: ClockMark | undefined): ClockMark => {
      const anchor = this.#follow(stored)
      return { ...anchor.mark, time: Math.max(stored?.time ?? 0, nextClockMark(clock.now(), this.#accounted(anchor))) }
    }
    const mark = await transact(this.#context, tx => putMark(tx, next))
    return this.#anchor ?? this.#anchorAt(mark)
  }

  /**
   * Records an operator's confirmation that the wall clock is right, so that the jump counts as elapsed. Recorded in
   * the ledger.
   */
  async confirm(context: LedgerContext & { readonly ledgerCommits: LedgerGroupCommit }): Promise<void> {
    const before = lockTimeShown(await this.now())
    const mark = await context.ledgerCommits.transact(context, STORE_LEDGER, async (tx, note) => {
      const time = this.#context.clock.now()
      note({ what: 'clock confirmed', before, after: lockTimeShown(time) })
      return putMark(tx, stored => ({ time, confirmed: (stored?.confirmed ?? 0) + 1 }))
    })
    this.#anchorAt(mark)
  }

  /** The anchor of this process: its start, or the last confirmation if that is later. */
  #follow(stored: ClockMark | undefined): Anchor {
    const now = this.#context.clock.now()
    // A store without a mark starts now.
    const mark = stored ?? { time: now, confirmed: 0 }
    if (this.#anchor?.mark.confirmed === mark.confirmed) return this.#anchor
    // Nothing counted while no process ran: up to a day of that gap is taken from the wall clock.
    return this.#anchorAt({ ...mark, time: nextClockMark(now, mark.time) })
  }

  #anchorAt(mark: ClockMark): Anchor {
    this.#anchor = { mark, elapsed: this.#context.clock.elapsed() }
    return this.#anchor
  }

  #accounted({ mark, elapsed }: Anchor): number {
    return mark.time + Math.floor(this.#context.clock.elapsed() - elapsed)
  }

  #evaluate(anchor: Anchor): ClockState {
    const clock = this.#context.clock.now()
    const accounted = this.#accounted(anchor)
    const jumped = isJump(clock, accounted)
    const elapsed = this.#context.clock.elapsed()
    if (!jumped) this.#trusted = { clock, elapsed }
    const trusted = this.#trusted && this.#trusted.clock + Math.floor(elapsed - this.#trusted.elapsed)
    return { clock, lockTime: lockTime(clock, accounted, trusted ?? accounted), jumped }
  }
}

const lockTimeShown = (time: number): LedgerLockTime => ({ lockTime: new Date(time).toISOString() })

async function putMark(tx: Transaction, next: (stored: ClockMark | undefined) => ClockMark): Promise<ClockMark> {
  const entry = await tx.get(recordKey.clock())
  const mark = next(entry && clockMarkFormat.decode(entry.value))
  tx.put(recordKey.clock(), clockMarkFormat.encode(mark))
  return mark
}
