/** After a rotation everything stored can be rewrapped with the new key, and nothing else about it changes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Meta } from '../../src/meta/meta.ts'
import { uploadFormat } from '../../src/model/upload.ts'
import type { Encryption, Version } from '../../src/model/version.ts'
import { versionFormat } from '../../src/model/version-record.ts'
import { keyRanges } from '../../src/store/commit/record-keys.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { RewrapProgress } from '../../src/store/keys/rewrap-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { assertWhole, bytesOf, faultOf, freshStore, makeBucket, OWNER, payload } from './fixture.ts'

const named = (name: string): KeyChoice => ({ by: 'named', name, context: Buffer.from('{"a":"b"}'), bucketKey: true })
const CUSTOMER = { by: 'customer', key: Buffer.alloc(32, 7), md5: 'md5-of-key' } as const

async function putUnder(store: Store, key: string, encryption?: KeyChoice, hold = false): Promise<Version> {
  const lock = { hold: hold ? true : undefined, retention: undefined }
  const body = [payload(key.length * 1000)]
  const sealed = encryption === undefined ? {} : { encryption }
  return store.objects.put({ bucket: 'bucket', key, owner: OWNER, body, lock, ...sealed })
}

/** Every record of this kind, by key. */
async function records(store: Store, kind: 'o' | 'v' | 'u'): Promise<Map<string, { encryption?: Encryption }>> {
  const decode = kind === 'u' ? uploadFormat.decode : versionFormat.decode
  const entries = await store.context.meta.scan(keyRanges.kind(kind), 10_000)
  return new Map(entries.map(({ key, value }) => [key.toString('hex'), decode(value) as { encryption?: Encryption }]))
}

const KINDS = ['o', 'v', 'u'] as const

const everything = async (store: Store) =>
  new Map((await Promise.all(KINDS.map(kind => records(store, kind)))).flatMap(found => [...found]))

/** A record without its wrapped key. */
const unwrapped = (found: Awaited<ReturnType<typeof everything>>): unknown =>
  [...found].map(([key, record]) => [
    key,
    { ...record, encryption: record.encryption && { ...record.encryption, wrappedKey: undefined } },
  ])

async function outdated(store: Store): Promise<number> {
  const { keyring } = store.context
  return [...(await everything(store)).values()].filter(
    ({ encryption }) => encryption !== undefined && !keyring.isCurrent(encryption.wrappedKey, encryption.keyName),
  ).length
}

/** A whole round, with the number of steps it took. */
async function round(store: Store): Promise<Omit<RewrapProgress, 'next'> & { readonly steps: number }> {
  const sum = { looked: 0, rewrapped: 0, left: 0, steps: 0 }
  for (let from: Buffer | undefined; ; ) {
    const { next, ...done } = await store.namedKeys.rewrap(from)
    for (const name of ['looked', 'rewrapped', 'left'] as const) sum[name] += done[name]
    sum.steps++
    if (next === undefined) return sum
    from = next
  }
}

/** Current and older versions, locked ones, an upload in progress, and content under keys that are not ours. */
async function filled(store: Store): Promise<void> {
  await makeBucket(store, 'bucket', 'locked')
  await putUnder(store, 'plain')
  await putUnder(store, 'service', { by: 'service' })
  await putUnder(store, 'service', { by: 'service' }, true)
  await putUnder(store, 'named', named('tenant'), true)
  await putUnder(store, 'other', named('other'))
  await putUnder(store, 'customer', CUSTOMER)
  const upload = { bucket: 'bucket', key: 'upload', initiator: OWNER, owner: OWNER }
  await store.uploads.create({ ...upload, encryption: { by: 'service' } })
}

test('P31: rewrapping after rotations changes the wrapped keys alone and is recorded in the ledger', async () => {
  const { store } = await freshStore()
  await filled(store)
  const before = await everything(store)
  assert.deepEqual(await round(store), { looked: 7, rewrapped: 0, left: 0, steps: 1 })
  for (const of of ['service', 'named'] as const) await store.namedKeys.rotate({ of })
  await store.namedKeys.rotate({ of: 'named', name: 'tenant' })
  assert.equal(await outdated(store), 5)
  assert.deepEqual(await round(store), { looked: 7, rewrapped: 5, left: 0, steps: 1 })
  assert.equal(await outdated(store), 0)
  assert.deepEqual(unwrapped(await everything(store)), unwrapped(before))
  for (const key of ['plain', 'service', 'named', 'other']) {
    assert((await bytesOf(store, { bucket: 'bucket', key })).equals(payload(key.length * 1000)), key)
  }
  assert.deepEqual(await round(store), { looked: 7, rewrapped: 0, left: 0, steps: 1 })
  const told = (await store.ledger.entries('_store')).filter(({ what }) => what === 'keys rewrapped')
  assert.deepEqual(
    told.map(entry => 'service' in entry && [entry.service, entry.named]),
    [
      [1, 1],
      [2, 2],
      [2, 2],
    ],
  )
  await assertWhole(store)
})

test('P23: contents under a disabled key are not rewrapped, and are counted', async () => {
  const { store } = await freshStore()
  await filled(store)
  await store.namedKeys.disable('other')
  await store.namedKeys.rotate({ of: 'named' })
  assert.deepEqual(await round(store), { looked: 7, rewrapped: 1, left: 1, steps: 1 })
  await store.namedKeys.enable('other')
  assert.deepEqual(await round(store), { looked: 7, rewrapped: 1, left: 0, steps: 1 })
})

test('a round runs step by step, and an interrupted one can be repeated safely', async () => {
  let commits = Number.POSITIVE_INFINITY
  const failing = (meta: Meta): Meta =>
    new Proxy(meta, {
      get(target, name) {
        const value = Reflect.get(target, name)
        if (name !== 'commit') return typeof value === 'function' ? value.bind(target) : value
        return async (tx: Parameters<Meta['commit']>[0]) => {
          if (commits-- <= 0) throw new Error('the power is gone')
          return target.commit(tx)
        }
      },
    })
  const ground = await freshStore(1, failing)
  const { store, clock } = ground
  await makeBucket(store, 'bucket', 'off')
  const count = 1_100
  for (let n = 0; n < count; n++) await putUnder(store, `k${n}`, { by: 'service' })
  await store.namedKeys.rotate({ of: 'service' })
  commits = 10
  await assert.rejects(round(store), /the power is gone/)
  commits = Number.POSITIVE_INFINITY
  const left = await outdated(store)
  assert(left > 0 && left < count, `${left} left`)
  // Each reading of the clock is a second later: every step does one page.
  clock.elapsed = () => seconds++ * 1_000
  let seconds = 0
  assert.deepEqual(await round(store), { looked: count, rewrapped: left, left: 0, steps: 5 })
  assert.equal(await outdated(store), 0)
  assert.equal(await faultOf(store.namedKeys.rewrap(Buffer.from('x'))), 'InvalidArgument')
})
