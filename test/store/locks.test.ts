import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { fsckDeep } from '../../src/maintenance/fsck.ts'
import type { Lock } from '../../src/model/version.ts'
import type { KeyChoice } from '../../src/store/keys/content-keys.ts'
import type { Store } from '../../src/store/store.ts'
import {
  assertWhole,
  bytesOf,
  ENGINES,
  faultOf,
  freshStore,
  makeBucket,
  OWNER,
  payload,
  put,
  remove,
  settle,
} from './fixture.ts'

const at = { bucket: 'bucket', key: 'key' }
const BYPASS = { bypass: true }
const DAY_MS = 86_400_000

async function lockedVersion(store: Store, lock: Partial<Lock>): Promise<string> {
  await makeBucket(store, 'bucket', 'locked')
  const whole = { hold: undefined, retention: undefined, ...lock }
  const { id } = await store.objects.put({ ...at, owner: OWNER, body: [payload(9000)], lock: whole })
  return id
}

const removeWith = (store: Store, versionId: string, bypass: boolean) =>
  store.objects.remove({ ...at, versionId, owner: OWNER, rights: { bypass } })

for (const { name, run } of ENGINES) {
  test(`${name}: P1, P4, P5, P6, P13, P22: a held version is unchanged by every write to its key`, () =>
    run(async store => {
      const id = await lockedVersion(store, { hold: true })
      const before = await store.objects.head({ ...at, versionId: id })
      for (const bypass of [false, true]) assert.equal(await faultOf(removeWith(store, id, bypass)), 'AccessDenied')
      await put(store, 'bucket', 'key', 'over it')
      await put(store, 'bucket', 'other', payload(70_000))
      await store.copies.copy({ from: { bucket: 'bucket', key: 'other' }, to: at, owner: OWNER })
      const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
      const upload = { ...at, uploadId: begun.id.toString('hex') }
      const part = await store.uploads.putPart({ ...upload, number: 1, body: [payload(5000)] })
      await store.completion.complete({ ...upload, parts: [part] })
      await remove(store, 'bucket', 'key')
      const copy = { bucket: 'bucket', key: 'copy' }
      const { version } = await store.copies.copy({ from: { ...at, versionId: id }, to: copy, owner: OWNER })
      await remove(store, 'bucket', 'copy', version.id)
      await settle(store)
      await assertWhole(store)
      const { seq: _seq, nullSeq: _nullSeq, ...rest } = await store.objects.head({ ...at, versionId: id })
      const { seq: _s, nullSeq: _n, ...was } = before
      assert.deepEqual(rest, was)
      assert.ok((await bytesOf(store, { ...at, versionId: id })).equals(payload(9000)))
      await store.objects.setHold({ ...at, versionId: id }, false)
      await removeWith(store, id, false)
    }))
}

test('P2, D10: a plain delete hides a held version behind a marker, unless the caller asks to keep it', async () => {
  const { store } = await freshStore()
  const id = await lockedVersion(store, { hold: true })
  assert.equal(await faultOf(store.objects.remove({ ...at, owner: OWNER, keepHeld: true })), 'AccessDenied')
  assert.equal((await store.objects.head(at)).id, id)
  const { marker } = await store.objects.remove({ ...at, owner: OWNER })
  await remove(store, 'bucket', 'key', marker!.id)
  assert.equal((await store.objects.head(at)).id, id)
})

test('P8, P29: a null version from before the locks is held, and no put replaces it', async () => {
  const { store } = await freshStore()
  await makeBucket(store, 'bucket')
  await put(store, 'bucket', 'key', 'from before')
  await store.buckets.setVersioning('bucket', 'on')
  await store.buckets.setLock('bucket', undefined)
  await store.objects.setHold({ ...at, versionId: 'null' }, true)
  await put(store, 'bucket', 'key', 'after')
  await remove(store, 'bucket', 'key')
  assert.equal(await faultOf(remove(store, 'bucket', 'key', 'null')), 'AccessDenied')
  assert.equal(await faultOf(remove(store, 'bucket', 'key', 'garbage')), 'InvalidArgument')
  assert.deepEqual(await remove(store, 'bucket', 'key', 'a'.repeat(32)), { marker: undefined, removed: undefined })
  assert.equal((await bytesOf(store, { ...at, versionId: 'null' })).toString(), 'from before')
})

test('P12, P14: retention yields to time; governance also to the bypass, compliance to nobody', async () => {
  for (const mode of ['governance', 'compliance'] as const) {
    const { store, clock } = await freshStore()
    const until = clock.now() + 1000
    const id = await lockedVersion(store, { retention: { mode, until } })
    assert.equal(await faultOf(removeWith(store, id, false)), 'AccessDenied')
    clock.move(999)
    if (mode === 'compliance') assert.equal(await faultOf(removeWith(store, id, true)), 'AccessDenied')
    assert.equal(await faultOf(removeWith(store, id, false)), 'AccessDenied')
    clock.move(mode === 'compliance' ? 1 : 0)
    assert.equal((await removeWith(store, id, mode === 'governance')).removed?.id, id)
  }
})

test('P19: a clock that is set back keeps what was retained', async () => {
  const { store, clock } = await freshStore()
  const id = await lockedVersion(store, { retention: { mode: 'compliance', until: clock.now() + 1000 } })
  clock.move(-10 * DAY_MS)
  assert.equal(await faultOf(removeWith(store, id, true)), 'AccessDenied')
})

test('P15: retention is lengthened by anyone, compliance shortened by no one', async () => {
  const { store, clock } = await freshStore()
  const now = clock.now()
  const id = await lockedVersion(store, { retention: { mode: 'governance', until: now + 1000 } })
  const which = { ...at, versionId: id }
  const retain = (mode: 'governance' | 'compliance', until: number, bypass = false) =>
    store.objects.setRetention(which, { mode, until }, { bypass })
  await retain('governance', now + 2000)
  assert.equal(await faultOf(retain('governance', now + 1999)), 'AccessDenied')
  assert.equal(await faultOf(retain('compliance', now + 5000)), 'AccessDenied')
  assert.equal(await faultOf(store.objects.setRetention(which, undefined)), 'AccessDenied')
  await retain('governance', now + 1500, true)
  await store.objects.setRetention(which, undefined, BYPASS)
  await retain('compliance', now + 3000)
  for (const bypass of [false, true]) {
    assert.equal(await faultOf(retain('compliance', now + 2999, bypass)), 'AccessDenied')
    assert.equal(await faultOf(retain('governance', now + 9000, bypass)), 'AccessDenied')
    assert.equal(await faultOf(store.objects.setRetention(which, undefined, { bypass })), 'AccessDenied')
  }
  await retain('compliance', now + 4000)
  assert.equal(await faultOf(retain('compliance', now, true)), 'InvalidArgument')
  clock.move(4000)
  await retain('governance', clock.now() + 1)
})

test('R38, R41, P16: hold and retention are independent', async () => {
  const { store, clock } = await freshStore()
  const retention = { mode: 'governance', until: clock.now() + 1000 } as const
  const id = await lockedVersion(store, { retention })
  const which = { ...at, versionId: id }
  assert.deepEqual((await store.objects.setHold(which, true)).lock, { hold: true, retention })
  assert.deepEqual((await store.objects.setHold(which, true)).lock, { hold: true, retention })
  const longer = { mode: 'governance', until: clock.now() + 2000 } as const
  assert.deepEqual((await store.objects.setRetention(which, longer)).lock, { hold: true, retention: longer })
  clock.move(3000)
  assert.equal(await faultOf(removeWith(store, id, true)), 'AccessDenied')
  await store.objects.setRetention(which, { mode: 'compliance', until: clock.now() + 1000 })
  await store.objects.setHold(which, false)
  assert.equal(await faultOf(removeWith(store, id, true)), 'AccessDenied')
  clock.move(1000)
  await removeWith(store, id, false)
})

test('P25, R113: locks in a bucket without object lock are refused before anything else', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'on')
  const retention = { mode: 'governance', until: clock.now() + 1000 } as const
  const attempt = (lock: Lock) => store.objects.put({ ...at, owner: OWNER, body: [], lock })
  assert.equal(await faultOf(attempt({ hold: true, retention: undefined })), 'InvalidRequest')
  assert.equal(await faultOf(attempt({ hold: undefined, retention })), 'InvalidRequest')
  const create = store.uploads.create({ ...at, initiator: OWNER, owner: OWNER, lock: { hold: undefined, retention } })
  assert.equal(await faultOf(create), 'InvalidRequest')
  assert.equal(await faultOf(store.objects.head(at)), 'NoSuchKey')
  // The key is missing as well, but the missing configuration is reported first (R113).
  assert.equal(await faultOf(store.objects.setHold(at, true)), 'ObjectLockConfigurationNotFoundError')
  assert.equal(await faultOf(store.objects.setRetention(at, retention)), 'ObjectLockConfigurationNotFoundError')
  await store.buckets.setLock('bucket', undefined)
  assert.equal(await faultOf(store.objects.setHold(at, true)), 'NoSuchKey')
  const past = { mode: 'governance', until: clock.now() } as const
  assert.equal(await faultOf(attempt({ hold: undefined, retention: past })), 'InvalidArgument')
  const { marker } = await remove(store, 'bucket', 'key')
  assert.equal(await faultOf(store.objects.setHold({ ...at, versionId: marker!.id }, true)), 'MethodNotAllowed')
})

test('P26: default retention applies to new versions only, from completion; explicit locks win', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const old = await put(store, 'bucket', 'key', 'before')
  const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER })
  await store.buckets.setLock('bucket', { mode: 'compliance', days: 2 })
  const asked = { hold: false, retention: { mode: 'governance', until: clock.now() + 5 } } as const
  const explicit = await store.objects.put({ ...at, owner: OWNER, body: [], lock: asked })
  assert.deepEqual(explicit.lock, asked)
  clock.move(1000)
  const byDefault = { mode: 'compliance', until: clock.now() + 2 * DAY_MS } as const
  assert.deepEqual((await put(store, 'bucket', 'key', 'after')).lock.retention, byDefault)
  const { version } = await store.copies.copy({ from: at, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER })
  assert.deepEqual(version.lock.retention, byDefault)
  const upload = { ...at, uploadId: begun.id.toString('hex') }
  const part = await store.uploads.putPart({ ...upload, number: 1, body: [payload(10)] })
  assert.deepEqual((await store.completion.complete({ ...upload, parts: [part] })).lock.retention, byDefault)
  assert.equal((await store.objects.head({ ...at, versionId: old.id })).lock.retention, undefined)
})

test('R90: an upload whose retention ran out before it was complete can still be completed', async () => {
  const { store, clock } = await freshStore()
  await makeBucket(store, 'bucket', 'locked')
  const lock = { hold: true, retention: { mode: 'compliance', until: clock.now() + 1000 } } as const
  const begun = await store.uploads.create({ ...at, initiator: OWNER, owner: OWNER, lock })
  const upload = { ...at, uploadId: begun.id.toString('hex') }
  const part = await store.uploads.putPart({ ...upload, number: 1, body: [payload(10)] })
  clock.move(2000)
  assert.deepEqual((await store.completion.complete({ ...upload, parts: [part] })).lock, lock)
})

test('P27: a copy does not carry the locks of its source, and leaves them there', async () => {
  const { store } = await freshStore()
  const id = await lockedVersion(store, { hold: true })
  const { version } = await store.copies.copy({ from: at, to: { bucket: 'bucket', key: 'copy' }, owner: OWNER })
  assert.deepEqual(version.lock, { hold: undefined, retention: undefined })
  assert.equal((await store.objects.head({ ...at, versionId: id })).lock.hold, true)
})

test('P22 P32: held versions are listed with the digest of their bytes, which no maintenance changes', async () => {
  const { store } = await freshStore()
  const id = await lockedVersion(store, { hold: true })
  const lock = { hold: true, retention: undefined }
  const put = (key: string, encryption: KeyChoice) =>
    store.objects.put({ bucket: 'bucket', key, owner: OWNER, body: [payload(70_000)], lock, encryption })
  const sealed = await put('sealed', { by: 'service' })
  const theirs = await put('theirs', { by: 'customer', key: Buffer.alloc(32, 1), md5: 'md5' })
  await remove(store, 'bucket', 'sealed')
  const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')
  const expected = [
    { name: `bucket/key@${id}`, sha256: sha256(payload(9000)) },
    { name: `bucket/sealed@${sealed.id}`, sha256: sha256(payload(70_000)) },
    { name: `bucket/theirs@${theirs.id}`, sha256: undefined },
  ]
  assert.deepEqual((await fsckDeep(store.context)).heldVersions, expected)
  await settle(store)
  assert.deepEqual((await fsckDeep(store.context)).heldVersions, expected)
})

test('P18: tags and grants of a held version can change, without permitting a delete', async () => {
  const { store } = await freshStore()
  const id = await lockedVersion(store, { hold: true })
  const which = { ...at, versionId: id }
  await store.objects.setTags(which, [['a', 'b']])
  await store.objects.setGrants(which, [])
  assert.equal((await store.objects.head(which)).lock.hold, true)
  assert.equal(await faultOf(removeWith(store, id, true)), 'AccessDenied')
})
