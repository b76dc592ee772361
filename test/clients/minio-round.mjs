/** The MinIO client for JavaScript against Holdfast. Copied next to its package and run there. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import * as minio from 'minio'

const {
  HF_URL,
  HF_BIG,
  HF_BIG_BYTES,
  HF_BIG_SHA256,
  HF_BUCKET: bucket,
  HF_FOLDER,
  HF_ACCESS_KEY,
  HF_SECRET_KEY,
} = process.env
const url = new URL(HF_URL)
const client = new minio.Client({
  endPoint: url.hostname,
  port: Number(url.port),
  useSSL: false,
  accessKey: HF_ACCESS_KEY,
  secretKey: HF_SECRET_KEY,
  pathStyle: true,
  partSize: 8 * 2 ** 20,
})

async function collected(stream) {
  const items = []
  for await (const item of stream) items.push(item)
  return items
}

const textOf = async name => Buffer.concat(await collected(await client.getObject(bucket, name))).toString()

await client.makeBucket(bucket, 'us-east-1')
assert(await client.bucketExists(bucket))
assert.equal(await client.bucketExists(`${bucket}-not`), false)
assert((await client.listBuckets()).some(({ name }) => name === bucket))

const names = ['a.txt', 'dir/b.txt', 'dir/sub/c.txt', 'dir/ü +&.txt']
for (const name of names) {
  await client.putObject(bucket, name, `content of ${name}`, undefined, {
    'Content-Type': 'text/plain',
    colour: 'blue',
  })
  assert.equal(await textOf(name), `content of ${name}`)
}
const about = await client.statObject(bucket, 'a.txt')
assert.deepEqual([about.size, about.metaData.colour], [16, 'blue'])
const partial = await client.getPartialObject(bucket, 'a.txt', 3, 4)
assert.equal(Buffer.concat(await collected(partial)).toString(), 'tent')

const listed = async (prefix, recursive) =>
  (await collected(client.listObjectsV2(bucket, prefix, recursive))).map(item => item.name ?? item.prefix)
assert.deepEqual(await listed('', true), names)
assert.deepEqual((await listed('dir/', false)).sort(), ['dir/b.txt', 'dir/sub/', 'dir/ü +&.txt'])
assert.deepEqual(
  (await collected(client.listObjects(bucket, '', true))).map(item => item.name),
  names,
)

const copyPath = join(HF_FOLDER, 'minio-big')
await client.fPutObject(bucket, 'big.bin', HF_BIG, { made: 'in parts' })
await client.fGetObject(bucket, 'big.bin', copyPath)
assert.equal(String((await stat(copyPath)).size), HF_BIG_BYTES)
assert.equal(
  createHash('sha256')
    .update(await readFile(copyPath))
    .digest('hex'),
  HF_BIG_SHA256,
)
assert.deepEqual(await collected(client.listIncompleteUploads(bucket, '', true)), [])

await client.copyObject(bucket, 'copy.txt', `/${bucket}/a.txt`, new minio.CopyConditions())
assert.equal(await textOf('copy.txt'), 'content of a.txt')
const sources = ['big.bin', 'a.txt'].map(name => new minio.CopySourceOptions({ Bucket: bucket, Object: name }))
await client.composeObject(new minio.CopyDestinationOptions({ Bucket: bucket, Object: 'composed.bin' }), sources)
assert.equal((await client.statObject(bucket, 'composed.bin')).size, Number(HF_BIG_BYTES) + 16)

await client.setObjectTagging(bucket, 'a.txt', { stage: 'test' })
assert.deepEqual(await client.getObjectTagging(bucket, 'a.txt'), [{ Key: 'stage', Value: 'test' }])
await client.removeObjectTagging(bucket, 'a.txt')

const put = await client.presignedPutObject(bucket, 'by url ü.txt', 60)
assert.equal((await fetch(put, { method: 'PUT', body: 'by url' })).status, 200)
assert.equal(await (await fetch(await client.presignedGetObject(bucket, 'by url ü.txt', 60))).text(), 'by url')
const policy = client.newPostPolicy()
policy.setBucket(bucket)
policy.setKey('by form.txt')
policy.setExpires(new Date(Date.now() + 60_000))
policy.setContentLengthRange(1, 100)
const { postURL, formData } = await client.presignedPostPolicy(policy)
const form = new FormData()
for (const [name, value] of Object.entries(formData)) form.append(name, value)
form.append('file', new Blob(['by form']))
assert.equal((await fetch(postURL, { method: 'POST', body: form })).status, 204)
assert.equal(await textOf('by form.txt'), 'by form')

await client.setBucketVersioning(bucket, { Status: 'Enabled' })
assert.equal((await client.getBucketVersioning(bucket)).Status, 'Enabled')
await client.putObject(bucket, 'a.txt', 'second version')
await client.removeObject(bucket, 'a.txt')
const versions = await collected(client.listObjects(bucket, '', true, { IncludeVersion: true }))
assert.equal(versions.filter(item => item.name === 'a.txt').length, 3)
await client.removeObjects(
  bucket,
  versions.map(({ name, versionId }) => ({ name, versionId })),
)
await client.removeBucket(bucket)
assert.equal(await client.bucketExists(bucket), false)
// The client leaves responses unread, which keeps its connections open until the server times out.
process.exit(0)
