/**
 * Transactions that append to one ledger all check its head and would conflict. They queue per bucket, and those that
 * wait at the same time share one commit: one check of the head, one signature, one sync. This is an optimization only:
 * each still commits only if nothing it read has changed, in any process.
 */
import { META_LIMITS } from '../../meta/meta.ts'
import type { LedgerNote } from '../../model/ledger.ts'
import { commit, Transaction, transact } from '../commit/transaction.ts'
import { type AttributedNote, appendToLedger, type LedgerContext } from './ledger-append.ts'

/** Collects ledger notes; may run more than once, like every attempt. */
export type LedgerAttempt<T> = (tx: Transaction, note: (note: LedgerNote) => void) => Promise<T>

interface PendingAppend {
  readonly context: LedgerContext
  readonly attempt: LedgerAttempt<unknown>
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

/** The result of an attempt before its commit. */
interface AttemptResult {
  readonly pending: PendingAppend
  readonly tx: Transaction
  readonly notes: readonly AttributedNote[]
  readonly result: unknown
}

const GROUP_MAX = 32
const TRIES_MAX = 8
/** Leaves room for the ledger's own records: two per note, and the head. */
const KEYS_MAX = META_LIMITS.commitKeysMax - 2 * GROUP_MAX - 8
const BYTES_MAX = META_LIMITS.commitBytesMax / 2

export class LedgerGroupCommit {
  readonly #queues = new Map<string, PendingAppend[]>()

  transact<T>(context: LedgerContext, bucket: string, attempt: LedgerAttempt<T>): Promise<T> {
    const work = this.#enqueue(context, bucket, attempt)
    return context.deadline === undefined ? work : context.deadline.watch(work)
  }

  #enqueue<T>(context: LedgerContext, bucket: string, attempt: LedgerAttempt<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pending: PendingAppend = { context, attempt, resolve: resolve as PendingAppend['resolve'], reject }
      const queue = this.#queues.get(bucket)
      if (queue !== undefined) {
        queue.push(pending)
        return
      }
      const first = [pending]
      this.#queues.set(bucket, first)
      void this.#drain(bucket, first)
    })
  }

  async #drain(bucket: string, queue: PendingAppend[]): Promise<void> {
    while (queue.length > 0) {
      const alone: PendingAppend[] = []
      let group: readonly PendingAppend[] = queue.splice(0, GROUP_MAX)
      // A conflict with another process or within the group is usually gone at the next try.
      for (let tries = 0; group.length > 1 && tries < TRIES_MAX; tries++) {
        const unsettled = await commitGroup(bucket, group)
        alone.push(...unsettled.alone)
        group = unsettled.retry
      }
      for (const pending of [...alone, ...group]) await runAlone(bucket, pending)
    }
    this.#queues.delete(bucket)
  }
}

function runAlone(bucket: string, { context, attempt, resolve, reject }: PendingAppend): Promise<void> {
  return transact(context, async tx => {
    const notes: LedgerNote[] = []
    const result = await attempt(tx, note => void notes.push(note))
    const attributed = notes.map(note => ({ note, by: context.actor }))
    await appendToLedger(context, tx, bucket, attributed)
    return result
  }).then(resolve, reject)
}

/** Members of a group that are not settled. */
interface Unsettled {
  readonly retry: readonly PendingAppend[]
  readonly alone: readonly PendingAppend[]
}

/** Commits all attempts that do not conflict as one transaction. */
async function commitGroup(bucket: string, group: readonly PendingAppend[]): Promise<Unsettled> {
  const outcomes = await Promise.all(group.map(tryAttempt))
  const members: AttemptResult[] = []
  const merged = new Transaction(group[0]!.context.meta)
  const written = new Set<string>()
  let bytes = 0
  for (const outcome of outcomes) {
    if (outcome === undefined) continue
    const { checks, writes } = outcome.tx
    bytes += writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0)
    const keys = merged.checks.length + merged.writes.length + checks.length + writes.length
    // An attempt that read a record another one writes must run again.
    const isIndependent = checks.every(({ key }) => !written.has(key.toString('latin1')))
    if (!isIndependent || keys > KEYS_MAX || bytes > BYTES_MAX) continue
    for (const { key } of writes) written.add(key.toString('latin1'))
    merged.merge(outcome.tx)
    members.push(outcome)
  }
  const isSettled = members.length > 0 && (await commitJoined(bucket, merged, members))
  const settled = new Set(isSettled ? members.map(({ pending }) => pending) : [])
  return {
    retry: group.filter((pending, i) => outcomes[i] !== undefined && !settled.has(pending)),
    alone: group.filter((_, i) => outcomes[i] === undefined),
  }
}

/** Undefined when the attempt must run alone: it was refused, or it changes nothing. */
async function tryAttempt(pending: PendingAppend): Promise<AttemptResult | undefined> {
  const tx = new Transaction(pending.context.meta)
  const notes: AttributedNote[] = []
  try {
    pending.context.deadline?.assertPending()
    const result = await pending.attempt(tx, note => void notes.push({ note, by: pending.context.actor }))
    const fits = notes.length <= 1 && tx.writes.length + notes.length > 0
    return fits ? { pending, tx, notes, result } : undefined
  } catch {
    // The attempt runs again alone, where its fault is checked against current records.
    return undefined
  }
}

/** False when a record that one of them read has changed. */
async function commitJoined(bucket: string, merged: Transaction, members: readonly AttemptResult[]): Promise<boolean> {
  const { context } = members[0]!.pending
  const notes = members.flatMap(outcome => outcome.notes)
  try {
    await appendToLedger(context, merged, bucket, notes)
    if (!(await commit(context, merged))) return false
  } catch (error) {
    for (const { pending } of members) pending.reject(error)
    return true
  }
  for (const { pending, result } of members) pending.resolve(result)
  return true
}
