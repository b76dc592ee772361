/**
 * P19. Tells the time by which locks end (`rules/lock-time.ts`). A mark in the store remembers how far time has got;
 * each process counts on from there by a clock that nobody can set. Another process may confirm the clock: whoever
 * sees it far from where it should be, on either side, looks whether that has happened.
 */
import type { Clock } from '../../lib/clock.ts'
import type { Random } from '../../lib/random.ts'
import type { Meta } from '../../meta/meta.ts'
import { type ClockMark, clockMarkFormat } from '../../model/clock-mark.ts'
import { type LockTimeShown, STORE_LEDGER } from '../../model/ledger.ts'
import { isJump, latestTime, lockTime, nextClockMark } from '../../rules/lock-time.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type Transaction, transact } from '../commit/transaction.ts'
import type { LedgerContext } from '../ledger/ledger-append.ts'
import type { LedgerGroupCommit } from '../ledger/ledger-group-commit.ts'

/** As far as a clock that is kept right may be from what really passed. */
const DRIFT_MS_MAX = 60_000

interface Ground {
  readonly meta: Meta
  readonly clock: Clock
  readonly random: Random
}

/** The mark as this process found it, and when that was on the clock that nobody can set. */
interface Anchor {
  readonly mark: ClockMark
  readonly elapsed: number
}

export interface ClockState {
  readonly clock: number
  /** Locks end by this. */
  readonly lockTime: number
  /** The clock is more than a day ahead of what can be accounted for, and nobody has confirmed it. */
  readonly jumped: boolean
}

export class LockClock {
  readonly #ground: Ground
  #anchor: Anchor | undefined
  /** The clock as it was when it last could be believed. */
  #trusted: { readonly clock: number; readonly elapsed: number } | undefined

  constructor(ground: Ground) {
    this.#ground = ground
  }

  async now(): Promise<number> {
    return (await this.state()).lockTime
  }

  /** What the clock says, or what can be accounted for if that is later: no retention may begin before. */
  async latest(): Promise<number> {
    const { clock } = await this.state()
    return this.#ground.clock.isSetOnPurpose === true ? clock : latestTime(clock, this.#accounted(this.#anchor!))
  }

  async state(): Promise<ClockState> {
    const anchor = this.#anchor ?? (await this.mark())
    const state = this.#look(anchor)
    if (Math.abs(state.clock - this.#accounted(anchor)) <= DRIFT_MS_MAX) return state
    const entry = await this.#ground.meta.get(recordKey.clock())
    const mark = entry && clockMarkFormat.decode(entry.value)
    if (mark !== undefined && mark.confirmed !== this.#anchor!.mark.confirmed) this.#anchorAt(mark)
    return this.#look(this.#anchor!)
  }

  /** Writes down how far time has got. Once a minute is enough: what is not written down has to be lived through. */
  async mark(): Promise<Anchor> {
    const { clock } = this.#ground
    const next = (stored: ClockMark | undefined): ClockMark => {
      const anchor = this.#follow(stored)
      return { ...anchor.mark, time: Math.max(stored?.time ?? 0, nextClockMark(clock.now(), this.#accounted(anchor))) }
    }
    const mark = await transact(this.#ground, tx => putMark(tx, next))
    return this.#anchor ?? this.#anchorAt(mark)
  }

  /** An operator says that the clock is right: whatever it has jumped over has passed. The store's ledger tells who. */
  async confirm(context: LedgerContext & { readonly ledgerCommits: LedgerGroupCommit }): Promise<void> {
    const before = lockTimeShown(await this.now())
    const mark = await context.ledgerCommits.append(context, STORE_LEDGER, async (tx, note) => {
      const time = this.#ground.clock.now()
      note({ what: 'clock confirmed', before, after: lockTimeShown(time) })
      return putMark(tx, stored => ({ time, confirmed: (stored?.confirmed ?? 0) + 1 }))
    })
    this.#anchorAt(mark)
  }

  /** Where this process counts from: its own beginning, or the last confirmation, whichever came later. */
  #follow(stored: ClockMark | undefined): Anchor {
    const now = this.#ground.clock.now()
    // A store that never had a mark begins now.
    const mark = stored ?? { time: now, confirmed: 0 }
    if (this.#anchor?.mark.confirmed === mark.confirmed) return this.#anchor
    // While no process ran nobody could count: up to a day of that is taken from the clock.
    return this.#anchorAt({ ...mark, time: nextClockMark(now, mark.time) })
  }

  #anchorAt(mark: ClockMark): Anchor {
    this.#anchor = { mark, elapsed: this.#ground.clock.elapsed() }
    return this.#anchor
  }

  #accounted({ mark, elapsed }: Anchor): number {
    return mark.time + Math.floor(this.#ground.clock.elapsed() - elapsed)
  }

  #look(anchor: Anchor): ClockState {
    const clock = this.#ground.clock.now()
    const accounted = this.#accounted(anchor)
    const jumped = isJump(clock, accounted)
    const elapsed = this.#ground.clock.elapsed()
    if (!jumped) this.#trusted = { clock, elapsed }
    const trusted = this.#trusted && this.#trusted.clock + Math.floor(elapsed - this.#trusted.elapsed)
    return { clock, lockTime: lockTime(clock, accounted, trusted ?? accounted), jumped }
  }
}

const lockTimeShown = (time: number): LockTimeShown => ({ lockTime: new Date(time).toISOString() })

async function putMark(tx: Transaction, next: (stored: ClockMark | undefined) => ClockMark): Promise<ClockMark> {
  const entry = await tx.get(recordKey.clock())
  const mark = next(entry && clockMarkFormat.decode(entry.value))
  tx.put(recordKey.clock(), clockMarkFormat.encode(mark))
  return mark
}
