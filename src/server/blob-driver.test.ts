import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkBlobsPlace, openBlobsAt, printableBlobsPlace } from './blob-driver.ts'

test('an address of an unknown scheme is refused without any part that may be secret', async () => {
  const unknown = /^Error: blobs cannot be stored at gopher:\/\/…: name a folder( or an address \S+)*$/
  const hasNoSecret = (error: Error): boolean => unknown.test(String(error)) && !String(error).includes('hush')
  const place = 'gopher://me:hush@host/hush?key=hush'
  assert.throws(() => checkBlobsPlace(place), hasNoSecret)
  await assert.rejects(openBlobsAt(place, { writer: Buffer.alloc(6) }), hasNoSecret)
})

test('a path is a folder, even with a colon in it', () => {
  for (const path of ['/srv/blobs', './blobs', 'a:b/c', '/mnt/rados://x']) checkBlobsPlace(path)
})

test('a place is printed without user, password and options', () => {
  assert.equal(printableBlobsPlace('/srv/blobs?x'), '/srv/blobs?x')
  assert.equal(printableBlobsPlace('s3://bucket/prefix?secret=x'), 's3://bucket/prefix')
  assert.equal(printableBlobsPlace('s3://me:a@b@bucket/prefix#x'), 's3://bucket/prefix')
})
