/** R61, R95. Responses that begin before their result is known: reads wait at a gate, and the test moves the clock. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { globalAgent } from 'node:http'
import { presign } from '../../src/auth/sign-request.ts'
import { SCHEMES } from '../../src/auth/signing.ts'
import { Fault } from '../../src/model/faults.ts'
import { gate } from '../store/fixture.ts'
import { inEither } from './long.ts'
import { begin, customerKey, expectFault, finish, KEY, MIB5, part, textAt } from './parts.ts'
import { BASE_HOST, type Client, inBoth, MAIN, makeBucket, type Received, type Sending, type Served } from './server.ts'

const BIG = Buffer.alloc(MIB5, 'A')
const SHA256 = createHash('sha256').update(BIG).digest('base64')
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

/** Every read of stored bytes waits here. */
function holdReads({ parts }: Served) {
  const { blobs } = parts.store.context
  const read = blobs.read.bind(blobs)
  const [reached, open] = [gate(), gate()]
  let damage: Error | undefined
  blobs.read = async function* (...args) {
    reached.open()
    await open.opened
    if (damage !== undefined) throw damage
    yield* read(...args)
  }
  return {
    reached: reached.opened,
    open: open.open,
    fail(error: Error) {
      damage = error
      open.open()
    },
  }
}

/** The body of a response, chunk by chunk. */
class Heard {
  text = ''
  status = 0
  #more = gate()

  readonly take = (piece: Buffer, status: number): void => {
    this.text += piece.toString()
    this.status = status
    this.#more.open()
    this.#more = gate()
  }

  async until(text: string): Promise<void> {
    while (this.text.length < text.length) await this.#more.opened
    assert.equal(this.text, text)
  }
}

/** Sends a slow request, moves the clock past the start and two keep-alives, and releases the reads. */
async function lasting(served: Served, send: (more: Pick<Sending, 'heard'>) => Promise<Received>, then: 'go' | Error) {
  const reads = holdReads(served)
  const heard = new Heard()
  // A new connection, which no long request has handed to the runtime.
  globalAgent.destroy()
  const answer = send({ heard: heard.take })
  await reads.reached
  served.pass(4_999)
  // Another request completes, and nothing of this response has arrived.
  assert.equal((await served.svc.send({ method: 'GET', path: '/' })).status, 200)
  assert.equal(heard.status, 0)
  served.pass(1)
  await heard.until(DECLARATION)
  assert.equal(heard.status, 200)
  for (const spaces of [' ', '  ']) {
    served.pass(10_000)
    await heard.until(DECLARATION + spaces)
  }
  if (then === 'go') reads.open()
  else reads.fail(then)
  const received = await answer
  assert.equal(received.status, 200)
  assert.equal(received.headers.get('transfer-encoding'), 'chunked')
  assert.equal(received.headers.get('content-type'), 'application/xml')
  assert(received.body.toString().startsWith(`${DECLARATION}  <`))
  return received
}

const copying = (bucket: string, headers: NonNullable<Sending['headers']>): Sending => ({
  method: 'PUT',
  bucket,
  path: '/to',
  headers: [[':copy-source', `${bucket}/from`], ...headers],
})

async function begunUpload(client: Client, headers: NonNullable<Sending['headers']> = []) {
  const bucket = await makeBucket(client)
  const place = await begin(client, bucket, '/k', headers)
  return { bucket, place, one: await part(client, place, 1, BIG) }
}

inEither(
  'R95 R83 CompleteMultipartUpload: a checksum that takes long to read starts the response early',
  async (client, served) => {
    const { bucket, place, one } = await begunUpload(client, [[':server-side-encryption', 'AES256']])
    const claim: [string, string] = [':checksum-sha256', SHA256]
    const done = await lasting(served, more => finish(client, place, [one], [claim], more), 'go')
    assert.equal(done.xml().name, 'CompleteMultipartUploadResult')
    assert.equal(textAt(done.xml(), 'ChecksumSHA256'), SHA256)
    assert.equal(done.own('server-side-encryption'), 'AES256')
    assert.notEqual(done.own('request-id'), undefined)
    assert((await client.send({ method: 'GET', bucket, path: '/k' })).body.equals(BIG))
    assert.equal(served.log.filter(line => line.operation === 'CompleteMultipartUpload').length, 1)
  },
)

inEither('R95 CompleteMultipartUpload: a late failure is an error inside the 200', async (client, served) => {
  const { bucket, place, one } = await begunUpload(client)
  const wrong: [string, string] = [':checksum-sha256', createHash('sha256').update('other').digest('base64')]
  const failed = await lasting(served, more => finish(client, place, [one], [wrong], more), 'go')
  assert.equal(failed.xml().name, 'Error')
  assert.equal(textAt(failed.xml(), 'Code'), 'BadDigest')
  assert.equal(textAt(failed.xml(), 'RequestId'), failed.own('request-id'))
  const logged = served.log.filter(line => line.operation === 'CompleteMultipartUpload')
  assert.deepEqual(
    logged.map(line => line.code),
    ['BadDigest'],
  )
  // No object was created, and the upload still exists.
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).status, 404)
  assert.equal((await finish(client, place, [one])).status, 200)
})

inEither('R95 CompleteMultipartUpload: damage that is met late is an internal error', async (client, served) => {
  const { place, one } = await begunUpload(client)
  const send = (more: Pick<Sending, 'heard'>) => finish(client, place, [one], [[':checksum-sha256', SHA256]], more)
  const failed = await lasting(served, send, new Error('the disk is gone'))
  assert.equal(textAt(failed.xml(), 'Code'), 'InternalError')
  assert(!failed.body.toString().includes('the disk is gone'))
})

inBoth(
  'R93 R95 CompleteMultipartUpload: conditions have their own status before, an error after',
  async (client, served) => {
    const { bucket, place, one } = await begunUpload(client)
    const claims: [string, string][] = [[':checksum-sha256', SHA256]]
    const none: [string, string] = ['If-None-Match', '*']
    const reads = { reached: false }
    await client.send({ method: 'PUT', bucket, path: '/k', body: 'there' })
    const { blobs } = served.parts.store.context
    const read = blobs.read.bind(blobs)
    blobs.read = (...args) => {
      reads.reached = true
      return read(...args)
    }
    const early = await finish(client, place, [one], [...claims, none])
    assert.equal(early.status, client.dialect === 'svc' ? 304 : 412)
    assert.equal(reads.reached, false, 'the data was read although the condition failed already')
    assert.equal((await client.send({ method: 'DELETE', bucket, path: '/k' })).status, 204)
    const late = await lasting(served, more => finish(client, place, [one], [...claims, none], more), 'go')
    assert.equal(late.xml().name, 'CompleteMultipartUploadResult')
  },
)

inEither(
  'R94 R95 CompleteMultipartUpload: an object that appears during the reading is seen by the commit',
  async (client, served) => {
    const { bucket, place, one } = await begunUpload(client)
    const headers: [string, string][] = [
      [':checksum-sha256', SHA256],
      ['If-None-Match', '*'],
    ]
    const reads = holdReads(served)
    const heard = new Heard()
    const answer = finish(client, place, [one], headers, { heard: heard.take })
    await reads.reached
    served.pass(5_000)
    await heard.until(DECLARATION)
    assert.equal((await client.send({ method: 'PUT', bucket, path: '/k', body: 'first' })).status, 200)
    reads.open()
    const failed = await answer
    assert.equal(textAt(failed.xml(), 'Code'), 'PreconditionFailed')
    assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), 'first')
  },
)

inEither('R61 R52 CopyObject: a checksum that has to be read for long comes late', async (client, served) => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/from', body: BIG })
  const sending = copying(bucket, [[':checksum-algorithm', 'SHA256']])
  const copied = await lasting(served, more => client.send({ ...sending, ...more }), 'go')
  assert.equal(copied.xml().name, 'CopyObjectResult')
  assert.equal(textAt(copied.xml(), 'ChecksumSHA256'), SHA256)
})

for (const [title, spelt] of [
  ['in its query', 'copy-source'],
  ['there with escapes', '%63opy%2Dsource'],
] as const) {
  inBoth(`R61 G3 CopyObject: a presigned URL that names its source ${title}`, async (client, served) => {
    const bucket = await makeBucket(client)
    await client.send({ method: 'PUT', bucket, path: '/from', body: BIG })
    const query = {
      [client.name(':copy-source')]: `${bucket}/from`,
      [client.name(':checksum-algorithm')]: 'SHA256',
    }
    const origin = `http://${bucket}.${BASE_HOST}`
    const by = { key: MAIN, region: 'us-east-1', now: client.clock.now(), seconds: 600 }
    const url = presign(SCHEMES[client.dialect], { method: 'PUT', origin, path: '/to', query, headers: {} }, by)
    const path = url.slice(origin.length).replace('copy-source', spelt)
    const copied = await lasting(served, more => client.send({ method: 'PUT', bucket, path, as: null, ...more }), 'go')
    assert.equal(copied.xml().name, 'CopyObjectResult')
  })
}

inEither(
  'R61 R55 CopyObject: long re-encryption starts the response early, refusals come first',
  async (client, served) => {
    const bucket = await makeBucket(client)
    await client.send({ method: 'PUT', bucket, path: '/from', body: BIG })
    const sealed = customerKey(KEY)
    expectFault(
      await client.send(copying(bucket, [...sealed, [':copy-source-if-match', '"no"']])),
      412,
      'PreconditionFailed',
    )
    expectFault(await client.send(copying('no-such-bucket', sealed)), 404, 'NoSuchBucket')
    const sending = copying(bucket, sealed)
    const copied = await lasting(served, more => client.send({ ...sending, ...more }), 'go')
    assert.equal(copied.xml().name, 'CopyObjectResult')
    assert.equal(copied.own('server-side-encryption-customer-algorithm'), 'AES256')
    assert((await client.send({ method: 'GET', bucket, path: '/to', headers: sealed })).body.equals(BIG))
  },
)

inEither('R61 CopyObject: a late failure is an error inside the 200, and no copy', async (client, served) => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/from', body: BIG })
  const sending = copying(bucket, customerKey(KEY))
  const full = new Fault('InsufficientStorage')
  const failed = await lasting(served, more => client.send({ ...sending, ...more }), full)
  assert.equal(textAt(failed.xml(), 'Code'), 'InsufficientStorage')
  assert.equal((await client.send({ method: 'HEAD', bucket, path: '/to' })).status, 404)
})

inEither('R61 UploadPartCopy: a part that has to be read for long comes late', async (client, served) => {
  const bucket = await makeBucket(client)
  await client.send({ method: 'PUT', bucket, path: '/from', body: BIG })
  const place = await begin(client, bucket, '/k', [[':checksum-algorithm', 'SHA256']])
  const sending: Sending = {
    method: 'PUT',
    bucket,
    path: `/k?partNumber=1&uploadId=${place.id}`,
    headers: [[':copy-source', `${bucket}/from`]],
  }
  const copied = await lasting(served, more => client.send({ ...sending, ...more }), 'go')
  assert.equal(textAt(copied.xml(), 'ChecksumSHA256'), SHA256)
})

inEither('R95 CompleteMultipartUpload: quick work has a plain answer', async client => {
  const { place, one } = await begunUpload(client)
  const done = await finish(client, place, [one], [[':checksum-sha256', SHA256]])
  assert.equal(done.headers.get('transfer-encoding'), undefined)
  assert.equal(done.headers.get('content-length'), String(done.body.length))
})
