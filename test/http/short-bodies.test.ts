/** Short bodies, which are read before the response starts, beside long ones, which are not. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Client, makeBucket, withFolderServer } from './server.ts'

const KIB = 1024
const SHORT_MAX = 128 * KIB

/** Bytes that show which object they belong to and their position in it. */
const bytesOf = (which: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at + 4 <= length; at += 4) bytes.writeUInt32BE(which * 0x1000000 + at, at)
  return bytes
}

const put = (client: Client, path: string, body: Buffer) =>
  client.send({ method: 'PUT', bucket: 'test-bucket', path, body })

const get = (client: Client, path: string, range?: string) =>
  client.send({
    method: 'GET',
    bucket: 'test-bucket',
    path,
    headers: range === undefined ? [] : [['range', `bytes=${range}`]],
  })

for (const dialect of ['svc', 's3'] as const) {
  test(`${dialect}: bodies on both sides of the inline limit are returned unchanged, whole and in ranges`, () =>
    withFolderServer(async served => {
      const client = served[dialect]
      await makeBucket(client)
      for (const length of [0, 1, 5 * KIB, 64 * KIB, SHORT_MAX - 1, SHORT_MAX, SHORT_MAX + 1, 700 * KIB]) {
        const body = bytesOf(1, length)
        assert.equal((await put(client, `/${length}`, body)).status, 200)
        assert.deepEqual((await get(client, `/${length}`)).body, body)
        if (length < 2 * KIB) continue
        for (const [start, end] of [
          [0, 0],
          [1_000, length - 1],
          [length - 100, length - 1],
        ] as const) {
          const part = await get(client, `/${length}`, `${start}-${end}`)
          assert.equal(part.status, 206)
          assert.deepEqual(part.body, body.subarray(start, end + 1))
        }
      }
    }))
}

/** Flips one bit of these bytes on the disk. */
function damage(folder: string, bytes: Buffer): void {
  const volumes = join(folder, 'blobs', 'volumes')
  for (const name of readdirSync(volumes)) {
    const path = join(volumes, name)
    const stored = readFileSync(path)
    const at = stored.indexOf(bytes)
    if (at < 0) continue
    stored[at]! ^= 1
    writeFileSync(path, stored)
    return
  }
  throw new Error('these bytes are in no volume')
}

test('a damaged short object is an error, a long one is cut off: neither is ever complete', () =>
  withFolderServer(async ({ s3: client }, folder) => {
    await makeBucket(client)
    for (const length of [64 * KIB, 700 * KIB]) {
      const body = bytesOf(2, length)
      await put(client, '/hurt', body)
      damage(folder, body.subarray(length - 64, length))
      if (length <= SHORT_MAX) {
        const answer = await get(client, '/hurt')
        assert.equal(answer.status, 500)
        assert.equal(answer.code(), 'InternalError')
      } else {
        await assert.rejects(get(client, '/hurt'), { code: 'ECONNRESET' })
      }
    }
    await put(client, '/sound', bytesOf(3, 64 * KIB))
    assert.deepEqual((await get(client, '/sound')).body, bytesOf(3, 64 * KIB))
  }))

test('unread responses keep their own bytes, whatever other clients are sent', () =>
  withFolderServer(async ({ s3: client }) => {
    await makeBucket(client)
    const COUNT = 120
    for (let n = 0; n < COUNT; n++) await put(client, `/${n}`, bytesOf(n, 64 * KIB))
    const socket = connect(client.port, '127.0.0.1')
    socket.pause()
    for (let n = 0; n < COUNT; n++) socket.write(client.head({ method: 'GET', bucket: 'test-bucket', path: `/${n}` }))
    // Other responses reuse the buffers of those already sent.
    for (let n = COUNT - 1; n >= 0; n--) assert.deepEqual((await get(client, `/${n}`)).body, bytesOf(n, 64 * KIB))
    let received = Buffer.alloc(0)
    for (let n = 0; n < COUNT; n++) {
      const whole = (): number => {
        const end = received.indexOf('\r\n\r\n')
        return end < 0 ? Number.POSITIVE_INFINITY : end + 4 + 64 * KIB
      }
      while (received.length < whole()) {
        const chunk = socket.read() as Buffer | null
        if (chunk === null) await new Promise(resolve => socket.once('readable', resolve))
        else received = Buffer.concat([received, chunk])
      }
      assert(received.subarray(whole() - 64 * KIB, whole()).equals(bytesOf(n, 64 * KIB)), `answer ${n}`)
      received = received.subarray(whole())
    }
    socket.destroy()
  }))
