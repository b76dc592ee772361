import { recordsOf } from '../maintenance/records.ts'
import { garbageFormat } from '../model/garbage.ts'
import { recordKey } from '../store/commit/record-keys.ts'
import { transact } from '../store/commit/transaction.ts'
import type { StoreContext } from '../store/store-context.ts'
import { isRebuilt } from '../store/usage/usage-mark.ts'

/**
 * A rebuild restores records of blobs that were lost, and also the garbage records of volumes that looked dead without
 * them. Compaction decides about those volumes anew. Called before the first owner counts usage.
 */
export async function reconsiderVolumes(context: StoreContext): Promise<void> {
  if (!(await isRebuilt(context.meta))) return
  for await (const { key, value } of recordsOf(context, 'g')) {
    if (garbageFormat.decode(value).kind !== 'volume') continue
    await transact(context, async tx => tx.remove(recordKey.garbage(key.subarray(1))))
  }
}
