/**
 * The fences of the owner's workers, for a metadata engine that may still be busy with a commit of a process that has
 * died. A worker commits only while its fence stands; the owner takes it down before it counts the worker as dead.
 */
import { WRITER_BYTES } from '../../lib/ids.ts'
import { keyRanges, recordKey } from './record-keys.ts'
import { type TransactionContext, transact } from './transaction.ts'

const NOTHING = Buffer.alloc(0)
const PAGE = 100

export async function registerWorkerFence(context: TransactionContext, writer: Buffer): Promise<void> {
  await transact(context, async tx => tx.put(recordKey.fence(writer), NOTHING))
}

export async function removeWorkerFence(context: TransactionContext, writer: Buffer): Promise<void> {
  await transact(context, async tx => tx.remove(recordKey.fence(writer)))
}

/** Those of the workers that an owner before this one had. */
export async function removeAllWorkerFences(context: TransactionContext): Promise<void> {
  for (;;) {
    const fences = await context.meta.scan(keyRanges.fences(), PAGE)
    if (fences.length === 0) return
    await transact(context, async tx => {
      for (const { key } of fences) tx.remove(recordKey.fence(key.subarray(-WRITER_BYTES)))
    })
  }
}
