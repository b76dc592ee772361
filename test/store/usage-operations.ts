/** Random changes of a few keys in a few buckets, by every operation that changes usage. */
import type { Random } from '../../src/lib/random.ts'
import { OutcomeUnknown } from '../../src/meta/meta.ts'
import { Fault } from '../../src/model/faults.ts'
import type { Store } from '../../src/store/store.ts'
import type { UploadName } from '../../src/store/uploads/upload-record.ts'
import { below, makeBucket, OWNER, oneOf, payload } from './fixture.ts'

export const BUCKETS = ['plain', 'versioned', 'suspended'] as const
const KEYS = ['a', 'b', 'c']
const SIZES = [0, 10, 5_000, 70_000]

export async function makeBuckets(store: Store): Promise<void> {
  await makeBucket(store, 'plain')
  await makeBucket(store, 'versioned', 'on')
  await makeBucket(store, 'suspended', 'suspended')
}

type Change = (store: Store, random: Random, at: { bucket: string; key: string }) => Promise<unknown>

async function someUpload(store: Store, random: Random, bucket: string): Promise<UploadName | undefined> {
  const { items } = await store.listing.uploads({ bucket, limit: 100 })
  if (items.length === 0) return undefined
  const { key, id } = oneOf(random, items)
  return { bucket, key, uploadId: id.toString('hex') }
}

const put: Change = (store, random, at) =>
  store.objects.put({ ...at, owner: OWNER, body: [payload(oneOf(random, SIZES), below(random, 1000))] })

const CHANGES: readonly Change[] = [
  put,
  put,
  (store, _random, at) => store.objects.remove({ ...at, owner: OWNER }),
  async (store, random, at) => {
    const { items } = await store.listing.versions({ bucket: at.bucket, limit: 100 })
    if (items.length === 0) return
    const { key, version } = oneOf(random, items)
    await store.objects.remove({ bucket: at.bucket, key, versionId: version.id, owner: OWNER })
  },
  (store, random, at) =>
    store.copies.copy({
      from: { bucket: oneOf(random, BUCKETS), key: oneOf(random, KEYS) },
      to: at,
      owner: OWNER,
    }),
  (store, _random, at) => store.uploads.create({ ...at, owner: OWNER, initiator: OWNER }),
  async (store, random, at) => {
    const upload = await someUpload(store, random, at.bucket)
    if (upload === undefined) return
    const body = [payload(oneOf(random, SIZES), below(random, 1000))]
    await store.uploads.putPart({ ...upload, number: 1 + below(random, 3), body })
  },
  async (store, random, at) => {
    const upload = await someUpload(store, random, at.bucket)
    if (upload === undefined) return
    const parts = await store.uploads.parts(await store.uploads.find(upload), 0, 10)
    // The last part may be small; the others are discarded.
    const last = parts.at(-1)
    if (last === undefined) return
    await store.completion.complete({ ...upload, parts: [{ number: last.number, etag: last.etag }] })
  },
  async (store, random, at) => {
    const upload = await someUpload(store, random, at.bucket)
    if (upload !== undefined) await store.uploads.abort(upload)
  },
]

/** One change; refusals are normal, and an unknown outcome ends the process. */
export async function changeSomething(store: Store, random: Random): Promise<void> {
  const at = { bucket: oneOf(random, BUCKETS), key: oneOf(random, KEYS) }
  try {
    await oneOf(random, CHANGES)(store, random, at)
  } catch (error) {
    if (!(error instanceof Fault) && !(error instanceof OutcomeUnknown)) throw error
  }
}
