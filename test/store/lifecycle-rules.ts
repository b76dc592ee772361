/** Lifecycle rules for tests, and the versions that they leave. */
import assert from 'node:assert/strict'
import { Lifecycle } from '../../src/maintenance/lifecycle.ts'
import { runUntilIdle } from '../../src/maintenance/maintenance-step.ts'
import { type Lock, NO_ATTRIBUTES, type Pairs } from '../../src/model/version.ts'
import type { Store } from '../../src/store/store.ts'
import { assertWhole, OWNER, settle } from './fixture.ts'

export const DAY_MS = 86_400_000

export const rule = (filter: string, action: string, status = 'Enabled'): string =>
  `<Rule><Status>${status}</Status><Filter>${filter}</Filter>${action}</Rule>`
export const prefix = (text: string): string => `<Prefix>${text}</Prefix>`
export const days = (count: number): string => `<Expiration><Days>${count}</Days></Expiration>`
export const MARKERS = '<Expiration><ExpiredObjectDeleteMarker>true</ExpiredObjectDeleteMarker></Expiration>'
export const abort = (count: number): string =>
  `<AbortIncompleteMultipartUpload><DaysAfterInitiation>${count}</DaysAfterInitiation></AbortIncompleteMultipartUpload>`
export const noncurrent = (count: number, keep?: number): string =>
  `<NoncurrentVersionExpiration><NoncurrentDays>${count}</NoncurrentDays>` +
  `${keep === undefined ? '' : `<NewerNoncurrentVersions>${keep}</NewerNoncurrentVersions>`}` +
  '</NoncurrentVersionExpiration>'

export const setRules = (store: Store, ...rules: string[]): Promise<void> =>
  store.documents.put('bucket', 'lifecycle', `<LifecycleConfiguration>${rules.join('')}</LifecycleConfiguration>`)

export const keysOf = async (store: Store): Promise<string[]> =>
  (await store.listing.objects({ bucket: 'bucket', limit: 1000 })).items.map(({ key }) => key)

/** Every version as `key`, `key*` for the latest, `!` for a delete marker. */
export async function versionsOf(store: Store): Promise<string[]> {
  const { items } = await store.listing.versions({ bucket: 'bucket', limit: 1000 })
  return items.map(({ key, version, latest }) => `${version.marker ? '!' : ''}${key}${latest ? '*' : ''}`)
}

export const putWith = (store: Store, key: string, size: number, tags: Pairs = []) =>
  store.objects.put({
    bucket: 'bucket',
    key,
    owner: OWNER,
    body: [Buffer.alloc(size)],
    attributes: { ...NO_ATTRIBUTES, tags },
  })

export const held: Lock = { retention: undefined, hold: true }

/** Runs one round. */
export async function round(store: Store, worker = new Lifecycle(store.context)): Promise<Lifecycle> {
  await runUntilIdle(worker)
  assert.equal(worker.failures, 0, String(worker.lastFailure))
  return worker
}

export async function wholeAfter(store: Store): Promise<void> {
  await settle(store)
  await assertWhole(store)
}
