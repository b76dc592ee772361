/** Jest with CommonJS: the store is an ECMAScript module, so it is imported when it is needed. */
const { HeadBucketCommand, S3Client } = require('@aws-sdk/client-s3')
const { expect, test } = require('@jest/globals')

test('a bucket is there', async () => {
  const { Holdfast } = await import('holdfast')
  const hf = await Holdfast.start({ buckets: ['photos'] })
  const s3 = new S3Client(hf.s3ClientConfig())
  const { $metadata } = await s3.send(new HeadBucketCommand({ Bucket: 'photos' }))
  expect($metadata.httpStatusCode).toBe(200)
  s3.destroy()
  await hf.close()
})
