/** Jest with ECMAScript modules. */
import { GetObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { Holdfast } from 'holdfast'

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
