/** What depends on time is tested without waiting: the test moves the clock. */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutBucketLifecycleConfigurationCommand,
  PutObjectCommand,
  PutObjectRetentionCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { Holdfast } from 'holdfast'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'

let hf: Holdfast
let s3: S3Client

beforeAll(async () => {
  hf = await Holdfast.start({ buckets: ['photos', { name: 'records', objectLock: true }] })
  s3 = new S3Client(hf.s3ClientConfig())
})

afterEach(() => hf.reset())

afterAll(async () => {
  s3.destroy()
  await hf.close()
})

test('a retained version can be deleted when its time is over, not before', async () => {
  const version = { Bucket: 'records', Key: 'contract' }
  const { VersionId } = await s3.send(new PutObjectCommand({ ...version, Body: 'signed' }))
  const RetainUntilDate = new Date(hf.clock.now().getTime() + 30 * 86_400_000)
  await s3.send(
    new PutObjectRetentionCommand({ ...version, VersionId, Retention: { Mode: 'COMPLIANCE', RetainUntilDate } }),
  )
  hf.clock.advance({ days: 29 })
  await expect(s3.send(new DeleteObjectCommand({ ...version, VersionId }))).rejects.toThrow('Access Denied')
  hf.clock.advance({ days: 2 })
  await s3.send(new DeleteObjectCommand({ ...version, VersionId }))
})

test('old objects expire by the lifecycle rules of their bucket', async () => {
  const Rules = [{ ID: 'old', Status: 'Enabled' as const, Filter: { Prefix: 'tmp/' }, Expiration: { Days: 7 } }]
  await s3.send(new PutBucketLifecycleConfigurationCommand({ Bucket: 'photos', LifecycleConfiguration: { Rules } }))
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'tmp/a', Body: 'x' }))
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'kept', Body: 'x' }))
  hf.clock.advance({ days: 9 })
  expect(await hf.runLifecycle()).toMatchObject({ removed: 1 })
  await expect(s3.send(new HeadObjectCommand({ Bucket: 'photos', Key: 'tmp/a' }))).rejects.toThrow()
  await s3.send(new HeadObjectCommand({ Bucket: 'photos', Key: 'kept' }))
})

test('a presigned URL ends', async () => {
  await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body: 'meow' }))
  const get = new GetObjectCommand({ Bucket: 'photos', Key: 'cat' })
  const url = await getSignedUrl(s3, get, { expiresIn: 3600 })
  expect(await (await fetch(url)).text()).toBe('meow')
  hf.clock.advance({ hours: 2 })
  expect((await fetch(url)).status).toBe(403)
  // The SDK signs URLs with the real time, unless it is told another one.
  const fresh = await getSignedUrl(s3, get, { expiresIn: 3600, signingDate: hf.clock.now() })
  expect((await fetch(fresh)).status).toBe(200)
})

test('a clock far from the real one does not get in the way of the SDK', async () => {
  for (const moment of ['1999-12-31T23:59:59Z', '2099-01-01T00:00:00Z']) {
    hf.clock.set(moment)
    await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body: 'meow' }))
    const { LastModified } = await s3.send(new HeadObjectCommand({ Bucket: 'photos', Key: 'cat' }))
    expect(Math.abs(LastModified!.getTime() - Date.parse(moment))).toBeLessThan(60_000)
  }
})

test("a date that the test runner has replaced is the store's as well", async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2040-01-01T00:00:00Z') })
  try {
    await s3.send(new PutObjectCommand({ Bucket: 'photos', Key: 'cat', Body: 'meow' }))
    const { LastModified } = await s3.send(new HeadObjectCommand({ Bucket: 'photos', Key: 'cat' }))
    expect(LastModified!.getUTCFullYear()).toBe(2040)
  } finally {
    vi.useRealTimers()
  }
})
