/** The test runner that comes with Node. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, beforeEach, test } from 'node:test'
import {
  CreateBucketCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { Holdfast } from 'holdfast'

const cat = { Bucket: 'photos', Key: 'cat' }
let hf
let s3

before(async () => {
  hf = await Holdfast.start({ buckets: ['photos'] })
  s3 = new S3Client(hf.s3ClientConfig())
})

beforeEach(() => hf.reset())

after(async () => {
  s3.destroy()
  await hf.close()
})

test('what is put is got', async () => {
  await s3.send(new PutObjectCommand({ ...cat, Body: 'meow' }))
  const { Body } = await s3.send(new GetObjectCommand(cat))
  assert.equal(await Body.transformToString(), 'meow')
})

test('a user who may read may not write', async () => {
  const Statement = [{ Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::album/*' }]
  const accounts = [
    {
      accountId: '111122223333',
      accessKeys: [{ accessKey: 'OWNER', secretKey: 'secret-of-owner' }],
      users: [
        {
          name: 'reader',
          accessKeys: [{ accessKey: 'READER', secretKey: 'secret-of-reader' }],
          policies: [{ Version: '2012-10-17', Statement }],
        },
      ],
    },
  ]
  const store = await Holdfast.start({ accounts })
  const clientOf = (accessKeyId, secretAccessKey) =>
    new S3Client(store.s3ClientConfig({ accessKeyId, secretAccessKey }))
  const owner = clientOf('OWNER', 'secret-of-owner')
  const reader = clientOf('READER', 'secret-of-reader')
  const dog = { Bucket: 'album', Key: 'dog' }
  await owner.send(new CreateBucketCommand({ Bucket: 'album' }))
  await owner.send(new PutObjectCommand({ ...dog, Body: 'woof' }))
  assert.equal((await reader.send(new HeadObjectCommand(dog))).ContentLength, 4)
  await assert.rejects(reader.send(new PutObjectCommand({ ...dog, Body: 'meow' })), { name: 'AccessDenied' })
  owner.destroy()
  reader.destroy()
  await store.close()
})

test('a store in a folder keeps what it was given', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'photos-'))
  for (const Body of ['meow', undefined]) {
    const store = await Holdfast.start({ folder, buckets: ['photos'] })
    const client = new S3Client(store.s3ClientConfig())
    if (Body !== undefined) await client.send(new PutObjectCommand({ ...cat, Body }))
    else assert.equal((await client.send(new GetObjectCommand(cat))).ContentLength, 4)
    client.destroy()
    await store.close()
  }
  await rm(folder, { recursive: true })
})
