/**
 * The AWS SDK for JavaScript against Holdfast. Copied next to its packages and run there; configured by the
 * environment.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { Readable } from 'node:stream'
import * as s3 from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { NodeHttpHandler } from '@smithy/node-http-handler'

const { HF_URL, HF_BASE_HOST, HF_BIG, HF_BIG_BYTES, HF_BIG_SHA256, HF_BUCKET: Bucket, HF_AUTHORITY } = process.env
const PART = 8 * 2 ** 20

/** Subdomains of the base host resolve to this machine: virtual hosts without DNS. */
const lookup = (_, { all }, done) =>
  all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4)
const trust = HF_AUTHORITY ? { ca: readFileSync(HF_AUTHORITY) } : {}
const requestHandler = new NodeHttpHandler({
  httpAgent: new HttpAgent({ keepAlive: true, lookup }),
  httpsAgent: new HttpsAgent({ keepAlive: true, lookup, ...trust }),
})

function client(style) {
  const endpoint = style === 'path' ? HF_URL : HF_URL.replace('127.0.0.1', HF_BASE_HOST)
  return new s3.S3Client({
    endpoint,
    forcePathStyle: style === 'path',
    region: 'us-east-1',
    maxAttempts: 1,
    requestHandler,
  })
}

async function hashOf(stream) {
  const hash = createHash('sha256')
  for await (const chunk of stream) hash.update(chunk)
  return hash.digest('hex')
}

const failsWith = (promise, name) => assert.rejects(promise, error => error.name === name)

async function smallObjects(aws) {
  for (const Key of ['a.txt', 'dir/b.txt', 'dir/ü +&.txt']) {
    await aws.send(new s3.PutObjectCommand({ Bucket, Key, Body: `content of ${Key}`, Metadata: { colour: 'blue' } }))
    const got = await aws.send(new s3.GetObjectCommand({ Bucket, Key }))
    assert.equal(await got.Body.transformToString(), `content of ${Key}`)
    assert.deepEqual(got.Metadata, { colour: 'blue' })
  }
  for (const ChecksumAlgorithm of ['CRC32', 'CRC32C', 'SHA1', 'SHA256']) {
    const put = await aws.send(new s3.PutObjectCommand({ Bucket, Key: 'a.txt', Body: 'summed', ChecksumAlgorithm }))
    const head = await aws.send(new s3.HeadObjectCommand({ Bucket, Key: 'a.txt', ChecksumMode: 'ENABLED' }))
    assert.equal(head[`Checksum${ChecksumAlgorithm}`], put[`Checksum${ChecksumAlgorithm}`])
  }
  // A stream of known length is sent in chunks with a trailing checksum.
  const Body = Readable.from([Buffer.alloc(5, 'a'), Buffer.alloc(70_000, 'b')])
  await aws.send(new s3.PutObjectCommand({ Bucket, Key: 'streamed', Body, ContentLength: 70_005 }))
  const streamed = await aws.send(new s3.GetObjectCommand({ Bucket, Key: 'streamed' }))
  assert.equal((await streamed.Body.transformToByteArray()).length, 70_005)
  assert.equal(streamed.ContentEncoding, undefined)
  await failsWith(aws.send(new s3.GetObjectCommand({ Bucket, Key: 'missing' })), 'NoSuchKey')
}

async function listing(aws) {
  const keys = []
  for await (const page of s3.paginateListObjectsV2({ client: aws, pageSize: 1 }, { Bucket })) {
    keys.push(...(page.Contents ?? []).map(({ Key }) => Key))
  }
  assert.deepEqual(keys, ['a.txt', 'dir/b.txt', 'dir/ü +&.txt', 'streamed'])
  const page = await aws.send(new s3.ListObjectsV2Command({ Bucket, Delimiter: '/', Prefix: '' }))
  assert.deepEqual(page.CommonPrefixes, [{ Prefix: 'dir/' }])
}

async function largeObject(aws) {
  const params = { Bucket, Key: 'big.bin', Body: createReadStream(HF_BIG), Metadata: { made: 'in parts' } }
  await new Upload({ client: aws, params, partSize: PART, queueSize: 4 }).done()
  const got = await aws.send(new s3.GetObjectCommand({ Bucket, Key: 'big.bin' }))
  assert.equal(String(got.ContentLength), HF_BIG_BYTES)
  assert.equal(await hashOf(got.Body), HF_BIG_SHA256)
  const single = { Bucket, Key: 'big-single.bin', Body: createReadStream(HF_BIG), ContentLength: Number(HF_BIG_BYTES) }
  await aws.send(new s3.PutObjectCommand(single))
  const again = await aws.send(new s3.GetObjectCommand({ Bucket, Key: 'big-single.bin' }))
  assert.equal(await hashOf(again.Body), HF_BIG_SHA256)
}

async function copyTagsAndVersions(aws) {
  const CopySource = `${Bucket}/${encodeURIComponent('dir/ü +&.txt')}`
  const copied = await aws.send(new s3.CopyObjectCommand({ Bucket, Key: 'copy.txt', CopySource }))
  assert(copied.CopyObjectResult.ETag)
  const TagSet = [{ Key: 'stage', Value: 'test' }]
  await aws.send(new s3.PutObjectTaggingCommand({ Bucket, Key: 'copy.txt', Tagging: { TagSet } }))
  assert.deepEqual((await aws.send(new s3.GetObjectTaggingCommand({ Bucket, Key: 'copy.txt' }))).TagSet, TagSet)
  await aws.send(new s3.PutBucketVersioningCommand({ Bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const { VersionId } = await aws.send(new s3.PutObjectCommand({ Bucket, Key: 'copy.txt', Body: 'new' }))
  assert(VersionId)
  const { Versions } = await aws.send(new s3.ListObjectVersionsCommand({ Bucket, Prefix: 'copy.txt' }))
  assert.deepEqual(
    Versions.map(one => [one.VersionId, one.IsLatest]),
    [
      [VersionId, true],
      ['null', false],
    ],
  )
}

async function presigned(aws) {
  const options = { expiresIn: 60 }
  const target = { Bucket, Key: 'by url ü.txt' }
  const put = await getSignedUrl(aws, new s3.PutObjectCommand(target), options)
  const get = await getSignedUrl(aws, new s3.GetObjectCommand(target), options)
  assert.equal((await fetch(put, { method: 'PUT', body: 'by url' })).status, 200)
  assert.equal(await (await fetch(get)).text(), 'by url')
}

async function cleared(aws) {
  const { Versions = [], DeleteMarkers = [] } = await aws.send(new s3.ListObjectVersionsCommand({ Bucket }))
  const Objects = [...Versions, ...DeleteMarkers].map(({ Key, VersionId }) => ({ Key, VersionId }))
  const done = await aws.send(new s3.DeleteObjectsCommand({ Bucket, Delete: { Objects } }))
  assert.equal(done.Deleted.length, Objects.length)
  await aws.send(new s3.DeleteBucketCommand({ Bucket }))
}

for (const style of ['path', 'virtual']) {
  const aws = client(style)
  await aws.send(new s3.CreateBucketCommand({ Bucket }))
  assert((await aws.send(new s3.ListBucketsCommand({}))).Buckets.some(({ Name }) => Name === Bucket))
  await smallObjects(aws)
  await listing(aws)
  if (style === 'path') await largeObject(aws)
  await copyTagsAndVersions(aws)
  // The platform's own client cannot resolve virtual hosts and does not trust our certificate.
  if (style === 'path' && !HF_AUTHORITY) await presigned(aws)
  await cleared(aws)
}
