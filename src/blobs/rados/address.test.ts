import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRadosAddress } from './address.ts'

const parse = (text: string) => parseRadosAddress(new URL(text))

test('an address names a pool, and optionally a user, a namespace and a configuration file', () => {
  const system = { pool: 'Blobs_1', namespace: 'holdfast', user: 'admin', conf: undefined }
  assert.deepEqual(parse('rados://Blobs_1'), system)
  assert.deepEqual(parse('rados://Blobs_1/?conf='), system)
  const all = { pool: 'p', namespace: 'two', user: 'holdfast', conf: '/etc/ceph/a b.conf' }
  assert.deepEqual(parse('rados://holdfast@p/two?conf=/etc/ceph/a%20b.conf'), all)
})

test('an address with anything else is refused without naming any part of it', () => {
  for (const text of [
    'rados://',
    'rados:///x',
    'rados://hush/a/b',
    'rados://hush?config=x',
    'rados://hush?conf=a&conf=b',
    'rados://hush:6789',
    'rados://me:hush@pool',
    'rados://pool/hush%20',
    'rados://pool#hush',
  ]) {
    assert.throws(
      () => parse(text),
      (error: Error) => /form rados:/.test(error.message) && !error.message.includes('hush'),
    )
  }
})
