/**
 * Decisions that append to one ledger all depend on its end, so they would fight over it. Here they queue up, bucket by
 * bucket, and those that wait together are committed together: one check of the end, one signature, one sync. That is
 * only about speed: each still commits only if nothing it saw has changed, also by another process.
 */
import { META_LIMITS } from '../../meta/meta.ts'
import type { LedgerNote } from '../../model/ledger.ts'
import { commit, Transaction, transact } from '../commit/transaction.ts'
import { type AttributedNote, appendToLedger, type LedgerContext } from './ledger-append.ts'

/** Says what it wants to have noted; may run more than once, like every attempt. */
export type LedgerAttempt<T> = (tx: Transaction, note: (note: LedgerNote) => void) => Promise<T>

interface Turn {
  readonly context: LedgerContext
  readonly attempt: LedgerAttempt<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What an attempt came to, before its commit. */
interface Outcome {
  readonly turn: Turn
  readonly decision: Transaction
  readonly noted: readonly AttributedNote[]
  readonly result: unknown
}

const TOGETHER_MAX = 32
const TRIES_MAX = 8
/** Room for the ledger's own records: two for each note, and the end. */
const KEYS_MAX = META_LIMITS.commitKeysMax - 2 * TOGETHER_MAX - 8
const BYTES_MAX = META_LIMITS.commitBytesMax / 2

export class LedgerGroupCommit {
  readonly #queues = new Map<string, Turn[]>()

  append<T>(context: LedgerContext, bucket: string, attempt: LedgerAttempt<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const turn: Turn = { context, attempt, resolve: resolve as Turn['resolve'], reject }
      const queue = this.#queues.get(bucket)
      if (queue !== undefined) {
        queue.push(turn)
        return
      }
      const first = [turn]
      this.#queues.set(bucket, first)
      void this.#serve(bucket, first)
    })
  }

  async #serve(bucket: string, queue: Turn[]): Promise<void> {
    while (queue.length > 0) {
      const solitary: Turn[] = []
      let turns: readonly Turn[] = queue.splice(0, TOGETHER_MAX)
      // Another process may append meanwhile, and some of these may depend on each other: both are over by next time.
      for (let tries = 0; turns.length > 1 && tries < TRIES_MAX; tries++) {
        const left = await together(bucket, turns)
        solitary.push(...left.solitary)
        turns = left.again
      }
      for (const turn of [...solitary, ...turns]) await alone(bucket, turn)
    }
    this.#queues.delete(bucket)
  }
}

function alone(bucket: string, { context, attempt, resolve, reject }: Turn): Promise<void> {
  return transact(context, async tx => {
    const notes: LedgerNote[] = []
    const result = await attempt(tx, note => void notes.push(note))
    const noted = notes.map(note => ({ note, by: context.actor }))
    await appendToLedger(context, tx, bucket, noted)
    return result
  }).then(resolve, reject)
}

/** Those of a group that are not settled. */
interface Left {
  readonly again: readonly Turn[]
  readonly solitary: readonly Turn[]
}

/** Commits what goes together. */
async function together(bucket: string, turns: readonly Turn[]): Promise<Left> {
  const tried = await Promise.all(turns.map(tryTurn))
  const joined: Outcome[] = []
  const all = new Transaction(turns[0]!.context.meta)
  const written = new Set<string>()
  let bytes = 0
  for (const outcome of tried) {
    if (outcome === undefined) continue
    const { checks, writes } = outcome.decision
    bytes += writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    const keys = all.checks.length + all.writes.length + checks.length + writes.length
    // Whoever read what another one of them changes is told to read again.
    const isFree = checks.every(({ key }) => !written.has(key.toString('latin1')))
    if (!isFree || keys > KEYS_MAX || bytes > BYTES_MAX) continue
    for (const { key } of writes) written.add(key.toString('latin1'))
    all.join(outcome.decision)
    joined.push(outcome)
  }
  const isSettled = joined.length > 0 && (await commitJoined(bucket, all, joined))
  const settled = new Set(isSettled ? joined.map(({ turn }) => turn) : [])
  return {
    again: turns.filter((turn, i) => tried[i] !== undefined && !settled.has(turn)),
    solitary: turns.filter((_, i) => tried[i] === undefined),
  }
}

/** Undefined when it has to be alone: it was refused, or changes nothing. */
async function tryTurn(turn: Turn): Promise<Outcome | undefined> {
  const decision = new Transaction(turn.context.meta)
  const noted: AttributedNote[] = []
  try {
    const result = await turn.attempt(decision, note => void noted.push({ note, by: turn.context.actor }))
    const fits = noted.length <= 1 && decision.writes.length + noted.length > 0
    return fits ? { turn, decision, noted, result } : undefined
  } catch {
    // Alone it fails again, and then it is known that it had to.
    return undefined
  }
}

/** False when something that one of them saw has changed. */
async function commitJoined(bucket: string, all: Transaction, joined: readonly Outcome[]): Promise<boolean> {
  const { context } = joined[0]!.turn
  const noted = joined.flatMap(outcome => outcome.noted)
  try {
    await appendToLedger(context, all, bucket, noted)
    if (!(await commit(context, all))) return false
  } catch (error) {
    for (const { turn } of joined) turn.reject(error)
    return true
  }
  for (const { turn, result } of joined) turn.resolve(result)
  return true
}
