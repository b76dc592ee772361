import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RecordCache } from './authorized-view.ts'

test('a cached record retains neither the buffer it was cut from nor its decoded form', () => {
  const cache = new RecordCache()
  const slab = Buffer.alloc(64 * 1024, 7)
  const key = Buffer.from('key')
  const read = { bytes: slab.subarray(0, 10) }
  cache.set('key', { key, value: slab.subarray(100, 200), stamp: 5, decoded: read })
  const cached = cache.get('key')!
  assert.deepEqual(cached, { key, value: Buffer.alloc(100, 7), stamp: 5 })
  assert.notEqual(cached.value.buffer, slab.buffer)
})

test('large records are not cached, and the oldest entry is evicted first', () => {
  const cache = new RecordCache()
  const set = (name: string, bytes = 1): void =>
    cache.set(name, { key: Buffer.from(name), value: Buffer.alloc(bytes), stamp: 1 })
  set('large', 1_025)
  assert.equal(cache.get('large'), undefined)
  for (let n = 0; n < 1_001; n++) set(`${n}`, 1_024)
  assert.equal(cache.get('0'), undefined)
  assert.equal(cache.get('1')?.value.length, 1_024)
})
