/** Bun's own S3 client, configured with endpoint and credentials only. It cannot create buckets: one exists. */
import assert from 'node:assert/strict'
import { S3Client } from 'bun'

const { HF_URL: endpoint, HF_BUCKET: bucket, HF_ACCESS_KEY: accessKeyId, HF_SECRET_KEY: secretAccessKey } = process.env
const s3 = new S3Client({ endpoint, bucket, accessKeyId, secretAccessKey })
const KEY = 'with space/plus+ä.txt'

assert.equal(await s3.write(KEY, 'by Bun'), 6)
const file = s3.file(KEY)
assert.equal(await file.text(), 'by Bun')
assert.equal(await file.slice(3, 6).text(), 'Bun')
assert.equal((await file.stat()).size, 6)
assert.equal(await s3.exists('missing'), false)
assert.deepEqual(
  (await s3.list({ prefix: 'with' })).contents.map(one => one.key),
  [KEY],
)
assert.equal(await (await fetch(s3.presign(KEY))).text(), 'by Bun')
const put = await fetch(s3.presign('presigned', { method: 'PUT' }), { method: 'PUT', body: 'by a link' })
assert.equal(put.status, 200)
assert.equal(await s3.file('presigned').text(), 'by a link')
const writer = s3.file('large').writer({ partSize: 5 * 2 ** 20 })
for (let i = 0; i < 12; i++) writer.write(Buffer.alloc(2 ** 20, i))
await writer.end()
const large = Buffer.from(await s3.file('large').arrayBuffer())
assert.equal(large.length, 12 * 2 ** 20)
for (let i = 0; i < 12; i++) assert.equal(large[i * 2 ** 20], i)
for (const key of [KEY, 'presigned', 'large']) await s3.delete(key)
