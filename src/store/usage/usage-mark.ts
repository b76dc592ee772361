/**
 * Tracks whether the usage counters of a store are valid. Every owner that maintains counters writes its incarnation to
 * one record. A program version without counters also raises the incarnation but does not update the record: the next
 * owner finds the gap and has everything recounted. The same happens in a store older than the counters.
 */
import { DamagedRecord, type Meta } from '../../meta/meta.ts'
import { Fault } from '../../model/faults.ts'
import { type UsageMark, usageMarkFormat } from '../../model/usage.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type TransactionContext, transact } from '../commit/transaction.ts'

/** A store without an owner starts empty and counts from its first commit on. */
const UNOWNED: UsageMark = { incarnation: 0, since: 0, done: true }

export async function usageMark(meta: Meta): Promise<UsageMark> {
  const entry = await meta.get(recordKey.usageMark())
  return entry === undefined ? UNOWNED : usageMarkFormat.decode(entry.value)
}

const put = (context: TransactionContext, mark: UsageMark): Promise<void> =>
  transact(context, async tx => tx.put(recordKey.usageMark(), usageMarkFormat.encode(mark)))

/** Called by the owner of a folder before anything is counted in this incarnation. */
export async function startUsageCounting(context: TransactionContext, incarnation: number): Promise<void> {
  const before = await previousMark(context.meta)
  const isContinuous =
    before !== undefined && before.incarnation === incarnation - 1 && before.since <= before.incarnation
  if (!isContinuous) return put(context, { incarnation, since: incarnation, done: false })
  await put(context, { ...before, incarnation }).catch((error: unknown) => {
    // On a full disk the counters remain valid; the next start finds a gap and has them recounted.
    if (!(error instanceof Fault && error.code === 'InsufficientStorage')) throw error
  })
}

/** An unreadable record counts as missing. */
async function previousMark(meta: Meta): Promise<UsageMark | undefined> {
  try {
    const entry = await meta.get(recordKey.usageMark())
    return entry && usageMarkFormat.decode(entry.value)
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined
    throw error
  }
}

const REBUILT: UsageMark = { incarnation: 0, since: Number.MAX_SAFE_INTEGER, done: false }

/** For rebuilt metadata: the next owner has everything recounted. */
export async function invalidateUsageCounters(meta: Meta): Promise<void> {
  await meta.commit({ checks: [], writes: [{ key: recordKey.usageMark(), value: usageMarkFormat.encode(REBUILT) }] })
}

/** Whether the metadata were rebuilt and had no owner since. */
export const isRebuilt = async (meta: Meta): Promise<boolean> => (await previousMark(meta))?.since === REBUILT.since

/** Called when every bucket is counted; false when another count was requested meanwhile. */
export function endUsageCounting(context: TransactionContext, { since }: UsageMark): Promise<boolean> {
  return transact(context, async tx => {
    const entry = await tx.get(recordKey.usageMark())
    const now = entry === undefined ? UNOWNED : usageMarkFormat.decode(entry.value)
    if (now.since !== since) return false
    if (!now.done) tx.put(recordKey.usageMark(), usageMarkFormat.encode({ ...now, done: true }))
    return true
  })
}
