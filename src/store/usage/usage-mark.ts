/**
 * Whether the counters of a folder can be believed. Every owner that keeps counters says so in one record, with its
 * epoch. A version of the program that knows nothing of counters also raises the epoch, and leaves the record alone:
 * the next owner finds a gap and has everything counted again. So it does in a folder from before there were counters.
 */
import { DamagedRecord, type Meta } from '../../meta/meta.ts'
import { Fault } from '../../model/faults.ts'
import { type UsageMark, usageMarkFormat } from '../../model/usage.ts'
import { recordKey } from '../commit/record-keys.ts'
import { type TransactionContext, transact } from '../commit/transaction.ts'

/** A store that nobody owns begins empty and counts from its first commit on. */
const UNOWNED: UsageMark = { epoch: 0, since: 0, done: true }

export async function usageMark(meta: Meta): Promise<UsageMark> {
  const entry = await meta.get(recordKey.usageMark())
  return entry === undefined ? UNOWNED : usageMarkFormat.decode(entry.value)
}

const put = (context: TransactionContext, mark: UsageMark): Promise<void> =>
  transact(context, async tx => tx.put(recordKey.usageMark(), usageMarkFormat.encode(mark)))

/** By the owner of a folder, before anything of this epoch is counted. */
export async function startUsageCounting(context: TransactionContext, epoch: number): Promise<void> {
  const before = await markBefore(context.meta)
  const isWithoutGap = before !== undefined && before.epoch === epoch - 1 && before.since <= before.epoch
  if (!isWithoutGap) return put(context, { epoch, since: epoch, done: false })
  await put(context, { ...before, epoch }).catch((error: unknown) => {
    // On a full disk the counters are as good as before; the next start finds a gap and has them counted again.
    if (!(error instanceof Fault && error.code === 'InsufficientStorage')) throw error
  })
}

/** A record that cannot be read says nothing. */
async function markBefore(meta: Meta): Promise<UsageMark | undefined> {
  try {
    const entry = await meta.get(recordKey.usageMark())
    return entry && usageMarkFormat.decode(entry.value)
  } catch (error) {
    if (error instanceof DamagedRecord) return undefined
    throw error
  }
}

/** For metadata that were put together from what was left of them: the next owner has everything counted again. */
export async function invalidateUsageCounters(meta: Meta): Promise<void> {
  const mark = { epoch: 0, since: Number.MAX_SAFE_INTEGER, done: false }
  await meta.commit({ checks: [], writes: [{ key: recordKey.usageMark(), value: usageMarkFormat.encode(mark) }] })
}

/** Every bucket is counted; true unless somebody has demanded another count meanwhile. */
export function endUsageCounting(context: TransactionContext, { since }: UsageMark): Promise<boolean> {
  return transact(context, async tx => {
    const entry = await tx.get(recordKey.usageMark())
    const now = entry === undefined ? UNOWNED : usageMarkFormat.decode(entry.value)
    if (now.since !== since) return false
    if (!now.done) tx.put(recordKey.usageMark(), usageMarkFormat.encode({ ...now, done: true }))
    return true
  })
}
