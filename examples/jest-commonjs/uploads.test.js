/** Plain jest with CommonJS: no options, nothing to transform. */
const { mkdtempSync, rmSync } = require('node:fs')
const { tmpdir } = require('node:os')
const { join } = require('node:path')
const { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } = require('@aws-sdk/client-s3')
const { afterAll, afterEach, beforeAll, expect, test } = require('@jest/globals')
const { Holdfast } = require('holdfast')

let hf
let s3

beforeAll(async () => {
  hf = await Holdfast.start({ buckets: ['photos'] })
  s3 = new S3Client(hf.s3ClientConfig())
})

afterEach(() => hf.reset())

afterAll(async () => {
  s3.destroy()
  await hf.close()
})

test('what is put is got', async () => {
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body: 'meow' }))
  const { Body } = await s3.send(new GetObjectCommand({ Bucket: 'photos', Key: 'cat' }))
  expect(await Body.transformToString()).toBe('meow')
})

test('each test begins with empty buckets', async () => {
  const { KeyCount } = await s3.send(new ListObjectsV2Command({ Bucket: 'photos' }))
  expect(KeyCount).toBe(0)
})

test('the SDK tries again after a failure', async () => {
  const fault = hf.faults.add({ match: { key: /^cat/ }, times: 1, fault: 'internal-error' })
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body: 'meow' }))
  expect(fault.hits).toBe(1)
})

test('what is in a folder is there after a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'photos-'))
  const credentials = { accessKeyId: 'AKALBUM', secretAccessKey: 'kept-between-the-two' }
  const opened = async use => {
    const store = await Holdfast.start({ folder, credentials, buckets: ['photos'] })
    const client = new S3Client(store.s3ClientConfig())
    const result = await use(client)
    client.destroy()
    await store.close()
    return result
  }
  // Large enough to be a file of its own, hashed on a thread.
  const Body = Buffer.alloc(3_000_000, 'meow')
  await opened(client => client.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body })))
  const bytes = await opened(async client =>
    (await client.send(new GetObjectCommand({ Bucket: 'photos', Key: 'cat' }))).Body.transformToByteArray(),
  )
  expect(Buffer.from(bytes).equals(Body)).toBe(true)
  rmSync(folder, { recursive: true })
})
