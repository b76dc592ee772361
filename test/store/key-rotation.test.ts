/** A key rotation and its ledger entry: never one without the other. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Disk } from '../../src/lib/disk.ts'
import type { Rotation } from '../../src/store/keys/named-keys.ts'
import type { Store } from '../../src/store/store.ts'
import { freshStore, openOn } from './fixture.ts'

const ROTATIONS: readonly Rotation[] = [
  { of: 'service' },
  { of: 'storage' },
  { of: 'named' },
  { of: 'named', name: 'one' },
]

const versionOf = ({ context: { keyring } }: Store, { of, name }: Rotation): number =>
  name === undefined ? keyring.versions[of] : keyring.keyState(name).version

const told = async (store: Store): Promise<unknown[]> =>
  (await store.ledger.entries('_store')).map(({ what, ...rest }) => [
    what,
    'version' in rest ? rest.version : undefined,
  ])

/** Fails once to replace the keyring. */
function failingOnce(disk: Disk): Disk {
  let isOver = false
  const rename: Disk['rename'] = async (from, to) => {
    if (isOver || !to.endsWith('/keyring')) return disk.rename(from, to)
    isOver = true
    throw Object.assign(new Error('the disk does not answer'), { code: 'EIO' })
  }
  return new Proxy(disk, {
    get(target, name) {
      if (name === 'rename') return rename
      const value = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('a rotation that the ledger cannot record does not happen', async () => {
  for (const rotation of ROTATIONS) {
    const { store } = await freshStore()
    const { ledgerCommits: turns } = store.context
    const { transact: take } = turns
    turns.transact = async () => assert.fail('no ledger')
    await assert.rejects(store.namedKeys.rotate(rotation), /no ledger/)
    assert.equal(versionOf(store, rotation), 1)
    turns.transact = take
    assert.equal(await store.namedKeys.rotate(rotation), 2)
    assert.deepEqual(await told(store), [['key rotated', 2]])
  }
})

test('a rotation recorded but not done is completed by the next start and reported once', async () => {
  for (const rotation of ROTATIONS) {
    const ground = await freshStore()
    await assert.rejects((await openOn({ ...ground, disk: failingOnce(ground.disk) })).namedKeys.rotate(rotation))
    const next = await openOn(ground)
    assert.equal(versionOf(next, rotation), 1, 'nothing is shown')
    for (let n = 0; n < 2; n++) {
      await next.namedKeys.finish()
      assert.equal(versionOf(next, rotation), 2)
      assert.deepEqual(await told(next), [['key rotated', 2]])
    }
    assert.equal(await next.namedKeys.rotate(rotation), 3)
    assert.deepEqual(
      await told(next),
      [2, 3].map(version => ['key rotated', version]),
    )
  }
})

test('a rotation that was recorded but not done is completed by the next one', async () => {
  const ground = await freshStore()
  const store = await openOn({ ...ground, disk: failingOnce(ground.disk) })
  await assert.rejects(store.namedKeys.rotate({ of: 'named', name: 'one' }), /does not answer/)
  assert.equal(await store.namedKeys.rotate({ of: 'service' }), 2)
  assert.equal(versionOf(store, { of: 'named', name: 'one' }), 2)
  assert.deepEqual(
    await told(store),
    [2, 2].map(version => ['key rotated', version]),
  )
})

test('a crash after the keyring was replaced: the next start rotates nothing', async () => {
  const ground = await freshStore()
  const { store } = ground
  const { meta } = store.context
  const { commit } = meta
  let commits = 0
  meta.commit = tx => (++commits > 1 ? Promise.reject(new Error('killed')) : commit.call(meta, tx))
  await assert.rejects(store.namedKeys.rotate({ of: 'storage' }), /killed/)
  meta.commit = commit
  const next = await openOn(ground)
  await next.namedKeys.finish()
  assert.equal(next.context.keyring.versions.storage, 2)
  assert.deepEqual(await told(next), [['key rotated', 2]])
})

test('concurrent rotations run one after another, each reported once', async () => {
  const { store } = await freshStore()
  const versions = await Promise.all([1, 2, 3].map(() => store.namedKeys.rotate({ of: 'service' })))
  assert.deepEqual(versions, [2, 3, 4])
  assert.deepEqual(
    await told(store),
    [2, 3, 4].map(version => ['key rotated', version]),
  )
})
