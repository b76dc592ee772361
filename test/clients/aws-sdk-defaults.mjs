/** The AWS SDK for JavaScript with the region `auto`, as S3-compatible services require it. */
import assert from 'node:assert/strict'
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  DeleteObjectCommand,
  GetBucketLocationCommand,
  GetObjectCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'

const { HF_URL, HF_BUCKET: Bucket } = process.env
const s3 = new S3Client({ endpoint: HF_URL, region: 'auto', forcePathStyle: true })
const Key = 'with space/plus+.txt'

await s3.send(new CreateBucketCommand({ Bucket }))
assert.equal((await s3.send(new HeadBucketCommand({ Bucket }))).BucketRegion, 'auto')
assert.equal((await s3.send(new GetBucketLocationCommand({ Bucket }))).LocationConstraint, 'auto')
await s3.send(new PutObjectCommand({ Bucket, Key, Body: 'by the SDK' }))
assert.equal(await (await s3.send(new GetObjectCommand({ Bucket, Key }))).Body.transformToString(), 'by the SDK')
const { Contents } = await s3.send(new ListObjectsV2Command({ Bucket }))
assert.deepEqual(
  Contents.map(one => one.Key),
  [Key],
)
const url = await getSignedUrl(s3, new GetObjectCommand({ Bucket, Key }))
assert.equal(await (await fetch(url)).text(), 'by the SDK')
await s3.send(new DeleteObjectCommand({ Bucket, Key }))
await s3.send(new DeleteBucketCommand({ Bucket }))
