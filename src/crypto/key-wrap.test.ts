import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seededRandom } from '../lib/random.ts'
import { unwrapBlobKey, unwrapKey, WRAP_NONCE_BYTES, WrongKey, wrapBlobKey, wrapKey } from './key-wrap.ts'

const random = seededRandom(11)
const contentKey = random.bytes(32)
const blobKey = random.bytes(32)
const blobId = random.bytes(16)

function assertEveryFlipIsRefused(wrapped: Buffer, unwrap: (wrapped: Buffer) => unknown): void {
  for (let at = 0; at < wrapped.length; at++) {
    const bad = Buffer.from(wrapped)
    bad[at] = bad[at]! ^ (1 << (at % 8))
    assert.throws(() => unwrap(bad), WrongKey, `byte ${at}`)
  }
}

test('a blob key comes back with its content key and its blob id, and with no other', () => {
  const wrapped = wrapBlobKey(contentKey, blobKey, blobId)
  assert.equal(wrapped.length, 48)
  assert.ok(unwrapBlobKey(contentKey, wrapped, blobId).equals(blobKey))
  assert.throws(() => unwrapBlobKey(random.bytes(32), wrapped, blobId), WrongKey)
  assert.throws(() => unwrapBlobKey(contentKey, wrapped, random.bytes(16)), WrongKey)
  assert.throws(() => unwrapBlobKey(contentKey, wrapped.subarray(1), blobId), WrongKey)
  assertEveryFlipIsRefused(wrapped, bad => unwrapBlobKey(contentKey, bad, blobId))
})

test('a blob key wrapped for another content is a different byte string that opens to the same key', () => {
  const other = random.bytes(32)
  const moved = wrapBlobKey(other, unwrapBlobKey(contentKey, wrapBlobKey(contentKey, blobKey, blobId), blobId), blobId)
  assert.ok(!moved.equals(wrapBlobKey(contentKey, blobKey, blobId)))
  assert.ok(unwrapBlobKey(other, moved, blobId).equals(blobKey))
})

test('two blobs of one content never share a nonce: equal keys do not look equal', () => {
  const first = wrapBlobKey(contentKey, blobKey, blobId)
  const second = wrapBlobKey(contentKey, blobKey, random.bytes(16))
  assert.ok(!first.subarray(0, 32).equals(second.subarray(0, 32)))
})

test('a wrapped key opens with the words it was bound to, and with no others', () => {
  const bound = Buffer.from('invoice')
  const wrapped = wrapKey(contentKey, blobKey, bound, random.bytes(WRAP_NONCE_BYTES))
  assert.ok(unwrapKey(contentKey, wrapped, bound).equals(blobKey))
  assert.throws(() => unwrapKey(contentKey, wrapped, Buffer.from('invoicf')), WrongKey)
  assert.throws(() => unwrapKey(random.bytes(32), wrapped, bound), WrongKey)
  assert.throws(() => unwrapKey(contentKey, Buffer.concat([wrapped, Buffer.of(0)]), bound), WrongKey)
  assertEveryFlipIsRefused(wrapped, bad => unwrapKey(contentKey, bad, bound))
})

test('a key of another length is refused before anything is wrapped', () => {
  assert.throws(() => wrapBlobKey(contentKey, random.bytes(31), blobId), RangeError)
  assert.throws(() => wrapKey(random.bytes(16), blobKey, blobId, random.bytes(WRAP_NONCE_BYTES)), RangeError)
})

test('the layout is the documented one', () => {
  const filled = (byte: number, count = 32) => Buffer.alloc(count, byte)
  const blobKeyWrapped =
    'efa450926f08dbd466d336a901f64c2eb1399af15a76e81a3642afe3cadd3898' + '9846a5cb11541ccf8f12221de4d9af7c'
  assert.equal(wrapBlobKey(filled(1), filled(2), filled(3, 16)).toString('hex'), blobKeyWrapped)
  const wrapped = wrapKey(filled(1), filled(2), filled(3, 4), filled(4, 24))
  assert.ok(wrapped.subarray(0, 24).equals(filled(4, 24)))
  assert.equal(
    wrapped.subarray(24).toString('hex'),
    'b29913fd7343a0e1fb178e0b88c8f42fb2644c4d76162f0dfef2a76b0b7f3f00' + '31ee0eab3fa566498344e44ff144b57f',
  )
})
