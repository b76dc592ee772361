/** A bucket of many keys, made without a server: a million PUTs would take minutes. */
import { mkdirSync } from 'node:fs'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../../src/model/account.ts'
import { versionFormat } from '../../src/model/version-record.ts'
import { openFolder } from '../../src/server/compose.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'

const RECORDS_PER_COMMIT = 250
const COMMITS_IN_FLIGHT = 100

export const manyKey = (i: number): string => `item-${String(i).padStart(7, '0')}.txt`

/** Commits version records as an empty PUT writes them. */
export async function fillBucket(data: string, bucket: string, count: number): Promise<void> {
  mkdirSync(data, { recursive: true })
  const { store, close } = await openFolder({ folder: data, durability: 'os' })
  const owner = canonicalIdOf(ROOT_ACCOUNT_ID)
  await store.buckets.create({ name: bucket, owner, lockEnabled: false })
  const template = await store.objects.put({ bucket, key: manyKey(0), owner, body: [] })
  let next = 1
  const commitNext = async (): Promise<void> => {
    while (next < count) {
      const first = next
      next = Math.min(count, first + RECORDS_PER_COMMIT)
      const writes = Array.from({ length: next - first }, (_, i) => {
        const key = recordKey.current(bucket, manyKey(first + i))
        return { key, value: versionFormat.encode(template, key) }
      })
      await store.context.meta.commit({ checks: [], writes })
    }
  }
  await Promise.all(Array.from({ length: COMMITS_IN_FLIGHT }, commitNext))
  await close()
}
