/**
 * Fences of the owner's workers, for a metadata engine that may still process a commit of a dead process. A worker can
 * commit only while its fence exists; the owner removes it before it treats the worker as dead.
 */
import { WRITER_BYTES } from '../../lib/ids.ts'
import { keyRanges, recordKey } from './record-keys.ts'
import { type TransactionContext, transact } from './transaction.ts'

const NO_VALUE = Buffer.alloc(0)
const PAGE = 100

export async function registerWorkerFence(context: TransactionContext, writer: Buffer): Promise<void> {
  await transact(context, async tx => tx.put(recordKey.fence(writer), NO_VALUE))
}

export async function removeWorkerFence(context: TransactionContext, writer: Buffer): Promise<void> {
  await transact(context, async tx => tx.remove(recordKey.fence(writer)))
}

/** Removes the fences left by the workers of a previous owner. */
export async function removeAllWorkerFences(context: TransactionContext): Promise<void> {
  for (;;) {
    const fences = await context.meta.scan(keyRanges.fences(), PAGE)
    if (fences.length === 0) return
    await transact(context, async tx => {
      for (const { key } of fences) tx.remove(recordKey.fence(key.subarray(-WRITER_BYTES)))
    })
  }
}
