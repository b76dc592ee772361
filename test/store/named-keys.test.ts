import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Meta } from '../../src/meta/meta.ts'
import type { Lock } from '../../src/model/version.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { Store } from '../../src/store/store.ts'
import {
  below,
  bytesOf,
  chance,
  ENGINES,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  payload,
  put,
  remove,
  turn,
  unhurried,
  verdict,
} from './fixture.ts'

const at = { bucket: 'bucket', key: 'key' }
async function later(turns: number): Promise<void> {
  for (let left = turns; left > 0; left--) await turn()
}

const DISABLED = 'KMS.DisabledException'
const UNLOCKED: Lock = { hold: undefined, retention: undefined }
const under = (name: string): KeyChoice => ({ by: 'named', name, context: undefined, bucketKey: false })

const putUnder = (store: Store, name: string, lock: Lock = UNLOCKED, key = 'key') =>
  store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [payload(100)], encryption: under(name), lock })

for (const { name, run } of ENGINES) {
  test(`${name}: P23: a key that wraps a locked version cannot be disabled and keeps working`, () =>
    run(async (store, clock) => {
      await makeBucket(store, 'bucket', 'locked')
      const retention = { mode: 'compliance', until: clock.now() + 1000 } as const
      const held = await putUnder(store, 'one', { hold: true, retention: undefined })
      await putUnder(store, 'two', { hold: undefined, retention }, 'other')
      await putUnder(store, 'three', UNLOCKED, 'free')
      // A noncurrent version is locked as well.
      await putUnder(store, 'three')
      for (const key of ['one', 'two']) assert.equal(await faultOf(store.namedKeys.disable(key)), 'KeyInUse')
      const which = { ...at, versionId: held.id }
      assert.ok((await bytesOf(store, which)).equals(payload(100)))
      await putUnder(store, 'one', UNLOCKED, 'more')
      await store.namedKeys.disable('three')
      assert.equal(await faultOf(bytesOf(store, { bucket: 'bucket', key: 'free' })), DISABLED)
      assert.equal(await faultOf(putUnder(store, 'three')), DISABLED)
      clock.move(1000)
      await store.namedKeys.disable('two')
      await store.objects.setHold(which, false)
      await store.namedKeys.disable('one')
      assert.equal(await faultOf(bytesOf(store, which)), DISABLED)
      // A lock promises readability.
      assert.equal(await faultOf(store.objects.setHold(which, true)), DISABLED)
      await store.namedKeys.enable('one')
      await store.objects.setHold(which, true)
      assert.ok((await bytesOf(store, which)).equals(payload(100)))
    }))
}

test('P23: rotation keeps held versions as they are, under the service key and under named ones', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const lock: Lock = { hold: true, retention: undefined }
  const named = await putUnder(store, 'one', lock)
  const put = { bucket: 'bucket', key: 'service', owner: OWNER, body: [payload(70_000)], lock }
  const plain = await store.objects.put({ ...put, encryption: { by: 'service' } })
  const { keyring } = store.context
  await keyring.rotate('named', 'one')
  for (const kind of ['named', 'service', 'storage'] as const) await keyring.rotate(kind)
  assert.deepEqual(await store.objects.head(at), named)
  assert.ok((await bytesOf(store, at)).equals(payload(100)))
  const { etag } = await store.objects.head({ bucket: 'bucket', key: 'service' })
  assert.equal(etag, plain.etag)
  assert.ok((await bytesOf(store, { bucket: 'bucket', key: 'service' })).equals(payload(70_000)))
})

test('P23: an upload that is to become a locked version keeps its key', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const lock: Lock = { hold: true, retention: undefined }
  await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER, lock, encryption: under('one') })
  assert.equal(await faultOf(store.namedKeys.disable('one')), 'KeyInUse')
})

test('P23: a lock and disabling of its key at the same time are serialized', async () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= 60; seed++) {
    const { store } = await freshStore(seed, meta => unhurried(meta, chance(seed)))
    await makeBucket(store, 'bucket', 'locked')
    const { id } = await putUnder(store, 'one')
    const which = { ...at, versionId: id }
    const [held, made, disabled] = await Promise.all([
      verdict(store.objects.setHold(which, true)),
      verdict(putUnder(store, 'one', { hold: true, retention: undefined }, 'new')),
      verdict(later(below(chance(seed), 60)).then(() => store.namedKeys.disable('one'))),
    ])
    outcomes.add(disabled)
    const isDisabled = store.context.keyring.keyState('one').disabled
    assert.equal(isDisabled, disabled === 'ok', `seed ${seed}`)
    if (isDisabled) assert.deepEqual([held, made], [DISABLED, DISABLED], `seed ${seed}`)
    else assert.ok((await bytesOf(store, which)).equals(payload(100)), `seed ${seed}`)
  }
  assert.deepEqual([...outcomes].sort(), ['KeyInUse', 'ok'])
})

test('P23: a locked version that becomes current again is not overlooked', async () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= 100; seed++) {
    const { store } = await freshStore(seed, meta => unhurried(meta, chance(seed)))
    await makeBucket(store, 'bucket', 'locked')
    const held = await putUnder(store, 'one', { hold: true, retention: undefined })
    const { id } = await put(store, 'bucket', 'key', 'newer')
    const removing = later(below(chance(seed), 20)).then(() => remove(store, 'bucket', 'key', id))
    const [removed, disabled] = await Promise.all([verdict(removing), verdict(store.namedKeys.disable('one'))])
    outcomes.add(removed)
    assert.equal(disabled, 'KeyInUse', `seed ${seed}`)
    assert.ok((await bytesOf(store, { ...at, versionId: held.id })).equals(payload(100)), `seed ${seed}`)
  }
  assert.ok(outcomes.has('ok'))
})

test('P23: disabling and enabling a key concurrently are serialized, and no lock is overlooked', async () => {
  const outcomes = new Set<string>()
  for (let seed = 1; seed <= 100; seed++) {
    const { store } = await freshStore(seed, meta => unhurried(meta, chance(seed)))
    await makeBucket(store, 'bucket', 'locked')
    const { id } = await putUnder(store, 'one')
    const which = { ...at, versionId: id }
    const enabling = later(below(chance(seed), 40)).then(() => store.namedKeys.enable('one'))
    const [disabled, held] = await Promise.all([
      verdict(store.namedKeys.disable('one')),
      verdict(enabling.then(() => store.objects.setHold(which, true))),
    ])
    outcomes.add(`${disabled} ${held}`)
    const isDisabled = store.context.keyring.keyState('one').disabled
    if (held === 'ok') assert.ok((await bytesOf(store, which)).equals(payload(100)), `seed ${seed}`)
    assert.equal(await verdict(putUnder(store, 'one', UNLOCKED, 'more')), isDisabled ? DISABLED : 'ok', `seed ${seed}`)
    assert.equal(isDisabled, held !== 'ok', `seed ${seed}`)
  }
  assert.ok(outcomes.has('ok ok'))
})

test('P23: a failed scan of the versions leaves the key unchanged', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const meta = store.context.meta as { scan: Meta['scan'] }
  const { scan } = meta
  meta.scan = async () => assert.fail('the disk does not answer')
  await assert.rejects(store.namedKeys.disable('one'), /does not answer/)
  meta.scan = scan
  await putUnder(store, 'one')
})
