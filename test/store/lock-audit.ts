/** Shared by the lock scenarios of the store and of HTTP. */
import assert from 'node:assert/strict'
import { fsck } from '../../src/maintenance/fsck.ts'
import type { Store } from '../../src/store/store.ts'
import type { ModelLock } from './lock-model.ts'

/** An old version expires a day after it was replaced, and a current one gets a delete marker. */
export const RULES = `<LifecycleConfiguration><Rule><ID>all</ID><Status>Enabled</Status><Filter/>
  <Expiration><Days>1</Days></Expiration>
  <NoncurrentVersionExpiration><NoncurrentDays>1</NoncurrentDays></NoncurrentVersionExpiration>
</Rule></LifecycleConfiguration>`

/** P31. Replaying the ledger over the bucket's defaults gives the current locks. */
export async function auditLedger(store: Store, bucket: string, locks: ReadonlyMap<string, ModelLock>): Promise<void> {
  assert.deepEqual((await fsck(store.context)).problems, [])
  const replayed = new Map<string, unknown>()
  for (const entry of await store.ledger.entries(bucket, 0, 10_000)) {
    if (!('versionId' in entry)) continue
    const name = `${entry.key}@${entry.versionId}`
    if ('before' in entry && entry.before !== null && replayed.has(name)) {
      assert.deepEqual(entry.before, replayed.get(name), `${name}: an entry is missing before ${entry.sequence}`)
    }
    if ('after' in entry) replayed.set(name, entry.after)
    if (entry.what === 'removed') replayed.delete(name)
  }
  for (const [name, { hold, retention }] of locks) {
    const shown = { hold, retention: retention && { ...retention, until: new Date(retention.until).toISOString() } }
    if (replayed.has(name)) assert.deepEqual(replayed.get(name), shown, name)
    // Only default locks are missing from the ledger.
    else assert.equal(hold, null, `${name} is held, and the ledger does not know`)
  }
}
