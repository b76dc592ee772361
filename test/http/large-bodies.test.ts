import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { connect } from 'node:net'
import type { DigestCommand } from '../../src/digest/digest-program.ts'
import type { ThreadPort } from '../../src/digest/digest-thread.ts'
import { DigestThreads, digestThreads } from '../../src/digest/digest-threads.ts'
import { checksumAlgorithm, digestOf } from '../../src/rules/checksum.ts'
import { inEither } from './long.ts'
import { expectFault } from './parts.ts'
import { type Client, makeBucket } from './server.ts'
import { exchange } from './wire.ts'

/** Long enough for a file of its own, and for threads to compute its digests. */
const LARGE = 3 * 2 ** 20 + 17

const isMissing = async (client: Client, bucket: string): Promise<boolean> =>
  (await client.send({ method: 'HEAD', bucket, path: '/k' })).status === 404

inEither('R104 PutObject: a large body is tagged with its MD5, and comes back as it was', async client => {
  const bucket = await makeBucket(client)
  const body = randomBytes(LARGE)
  const md5 = createHash('md5').update(body)
  const headers = [['Content-MD5', md5.copy().digest('base64')]] as const
  const answer = await client.send({ method: 'PUT', bucket, path: '/k', body, headers })
  assert.equal(answer.status, 200, answer.body.toString())
  assert.equal(answer.headers.get('etag'), `"${md5.digest('hex')}"`)
  const got = await client.send({ method: 'GET', bucket, path: '/k' })
  assert.ok(got.body.equals(body))
})

/** Reads a response as a client does that stops after every piece, and some of them for good in the middle. */
async function readSlowly(port: number, head: string, bytesMax: number): Promise<Buffer> {
  const socket = connect(port, '127.0.0.1')
  socket.write(head)
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of socket as AsyncIterable<Buffer>) {
    pieces.push(piece)
    bytes += piece.length
    if (bytes >= bytesMax) break
    await new Promise(setImmediate)
  }
  socket.destroy()
  const all = Buffer.concat(pieces)
  return all.subarray(all.indexOf('\r\n\r\n') + 4)
}

inEither('GetObject: concurrent downloads, some of them aborted, get the bytes of their own object', async client => {
  const bucket = await makeBucket(client)
  const bodies = Array.from({ length: 6 }, () => randomBytes(LARGE))
  for (const [i, body] of bodies.entries()) await client.send({ method: 'PUT', bucket, path: `/k${i}`, body })
  const download = async (n: number): Promise<void> => {
    const body = bodies[n % bodies.length]!
    const breaksOff = n % 5 === 0
    const headers = [['Connection', 'close']] as const
    const head = client.head({ method: 'GET', bucket, path: `/k${n % bodies.length}`, headers })
    const got = await readSlowly(client.port, head, breaksOff ? LARGE / 2 : Number.POSITIVE_INFINITY)
    assert.ok(got.equals(breaksOff ? body.subarray(0, got.length) : body), `download ${n}`)
  }
  await Promise.all(Array.from({ length: 40 }, (_, n) => download(n)))
})

inEither('R104 PutObject: a large body that its Content-MD5 does not fit is not stored', async client => {
  const bucket = await makeBucket(client)
  const body = randomBytes(LARGE)
  const headers = [['Content-MD5', createHash('md5').update(body.subarray(1)).digest('base64')]] as const
  expectFault(await client.send({ method: 'PUT', bucket, path: '/k', body, headers }), 400, 'BadDigest')
  assert.ok(await isMissing(client, bucket))
})

for (const algorithm of ['sha1', 'sha256', 'crc32', 'crc64nvme'] as const) {
  inEither(`R83 R112 PutObject: a large body has the ${algorithm} that was claimed, or is not stored`, async client => {
    const bucket = await makeBucket(client)
    const body = randomBytes(LARGE)
    const name = `:checksum-${algorithm}`
    const claimed = (of: Buffer): string => digestOf(checksumAlgorithm(algorithm), of).toString('base64')
    const wrong = [[name, claimed(body.subarray(1))]] as const
    expectFault(await client.send({ method: 'PUT', bucket, path: '/k', body, headers: wrong }), 400, 'BadDigest')
    assert.ok(await isMissing(client, bucket))
    const right = [[name, claimed(body)]] as const
    const answer = await client.send({ method: 'PUT', bucket, path: '/k', body, headers: right })
    assert.equal(answer.own(name.slice(1)), claimed(body))
  })
}

inEither('A15 PutObject: a large body of which one bit is not what was signed is not stored', async client => {
  const bucket = await makeBucket(client)
  const body = randomBytes(LARGE)
  const head = client.head({ method: 'PUT', bucket, path: '/k', body })
  for (const at of [0, LARGE >> 1, LARGE - 1]) {
    const altered = Buffer.from(body)
    altered[at]! ^= 1
    const refusal = await exchange(client.port, head, altered)
    assert.equal(refusal?.status, 400)
    assert.match(refusal.code, /ContentSHA256Mismatch/)
    assert.ok(await isMissing(client, bucket))
  }
  assert.equal((await exchange(client.port, head, body))?.status, 200)
})

/** A thread that exits when it receives its first bytes. */
class Dying extends EventEmitter implements ThreadPort {
  postMessage(command: DigestCommand): void {
    if ('buffer' in command) setImmediate(() => this.emit('exit', 1))
  }
  ref(): void {}
  unref(): void {}
}

inEither('PutObject: a large body whose digests were lost on the way is not stored', async (client, { log }) => {
  const bucket = await makeBucket(client)
  const body = randomBytes(LARGE)
  const dying = new DigestThreads(() => new Dying())
  digestThreads.open = algorithm => dying.open(algorithm)
  try {
    expectFault(await client.send({ method: 'PUT', bucket, path: '/k', body }), 500, 'InternalError')
  } finally {
    Reflect.deleteProperty(digestThreads, 'open')
  }
  assert.ok(await isMissing(client, bucket))
  assert.ok(log.some(line => JSON.stringify(line).includes('a digest thread failed')))
  assert.equal((await client.send({ method: 'PUT', bucket, path: '/k', body })).status, 200)
})
