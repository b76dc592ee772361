/** What a client does when things go wrong: each test has a store of its own, and asks it to fail. */
import { GetObjectCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { Holdfast } from 'holdfast'
import { expect, test } from 'vitest'

const object = { Bucket: 'photos', Key: 'cat' }

test('the SDK tries again when it is told to slow down', async () => {
  await using hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client(hf.s3ClientConfig())
  const slow = hf.faults.add({ match: { operation: 'PutObject', key: /^cat/ }, times: 2, fault: 'slow-down' })
  await s3.send(new PutObjectCommand({ ...object, Body: 'meow' }))
  expect(slow.hits).toBe(2)
})

test('a download that breaks off is noticed', async () => {
  await using hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client(hf.s3ClientConfig())
  await s3.send(new PutObjectCommand({ ...object, Body: 'x'.repeat(1_000_000) }))
  hf.faults.add({ match: { operation: 'GetObject' }, fault: { cutAfter: 500_000 } })
  const { Body } = await s3.send(new GetObjectCommand(object))
  await expect(Body!.transformToByteArray()).rejects.toThrow()
})

test('an upload that took effect, but whose answer was lost, is sent again', async () => {
  await using hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client(hf.s3ClientConfig())
  const lost = hf.faults.add({ match: { operation: 'PutObject' }, times: 1, fault: 'lost-answer' })
  await s3.send(new PutObjectCommand({ ...object, Body: 'meow' }))
  expect(lost.hits).toBe(1)
  await s3.send(new HeadObjectCommand(object))
})

test('a full disk is told, and reading goes on', async () => {
  await using hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client({ ...hf.s3ClientConfig(), maxAttempts: 1 })
  await s3.send(new PutObjectCommand({ ...object, Body: 'meow' }))
  hf.faults.add({ fault: 'disk-full' })
  await expect(s3.send(new PutObjectCommand({ ...object, Body: 'purr' }))).rejects.toMatchObject({
    name: 'InsufficientStorage',
    $metadata: { httpStatusCode: 507 },
  })
  const { Body } = await s3.send(new GetObjectCommand(object))
  expect(await Body!.transformToString()).toBe('meow')
})

test('a slow answer meets the timeout of its client', async () => {
  await using hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client(hf.s3ClientConfig())
  hf.faults.add({ fault: { delay: 60_000 } })
  const abortSignal = AbortSignal.timeout(50)
  await expect(s3.send(new HeadObjectCommand(object), { abortSignal })).rejects.toMatchObject({ name: 'AbortError' })
})
