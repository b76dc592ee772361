import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { seededRandom } from '../lib/random.ts'
import { openSecret, SecretBoxBroken, type StorageKeys, sealSecret } from './secret-box.ts'

const random = seededRandom(5)
const VERSIONS = [random.bytes(32), random.bytes(32)]
const keysUpTo = (newest: number): StorageKeys => ({
  storageKey: (version = newest) => ({ version, key: Buffer.from(VERSIONS[version - 1]!) }),
})

test('any text comes back, also after the storage key was rotated', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string(), (secret, name) => {
      const box = sealSecret(keysUpTo(1), secret, name, random)
      assert.equal(openSecret(keysUpTo(2), box, name), secret)
    }),
  )
})

test('no changed byte, no other name and no other key opens it', () => {
  const box = sealSecret(keysUpTo(1), 'hush-hush', 'AKONE', random)
  assert(!box.includes('hush'))
  assert.throws(() => openSecret(keysUpTo(1), box, 'AKTWO'), SecretBoxBroken)
  assert.throws(
    () => openSecret({ storageKey: () => ({ version: 1, key: random.bytes(32) }) }, box, 'AKONE'),
    SecretBoxBroken,
  )
  assert.throws(() => openSecret(keysUpTo(1), box.subarray(0, 20), 'AKONE'), SecretBoxBroken)
  // The version selects the key, so its bytes are skipped: another version is another key.
  for (let i = 0; i < box.length; i++) {
    if (i >= 1 && i < 5) continue
    const changed = Buffer.from(box)
    changed[i] = changed[i]! ^ 1
    assert.throws(() => openSecret(keysUpTo(1), changed, 'AKONE'), SecretBoxBroken, `byte ${i}`)
  }
})

test('the same secret never looks the same twice', () => {
  const [a, b] = [1, 2].map(() => sealSecret(keysUpTo(1), 'hush-hush', 'AKONE', random))
  assert.notDeepEqual(a, b)
})
