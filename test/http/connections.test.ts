/**
 * Connections that close early, stall or are slow release their resources, and get an error response where possible.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ADMISSION_LIMITS } from '../../src/http/admission.ts'
import { md5Header } from './actions.ts'
import { BASE_HOST, type Client, inBoth, makeBucket, type Sending, type Served, withServer } from './server.ts'
import { exchange, turn, until, Wire } from './wire.ts'

const PIPELINED = 8
const WAIT: [string, string] = ['Expect', '100-continue']
const MD5 = md5Header('no document')

const upload = (bucket: string, headers: Sending['headers'] = []): Sending => ({
  method: 'PUT',
  bucket,
  path: '/k',
  body: Buffer.alloc(200_000, 7),
  headers,
})

const isThere = async (client: Client, bucket: string): Promise<boolean> =>
  (await client.send({ method: 'HEAD', bucket, path: '/k' })).status === 200

test('queued responses are dropped when their connection is lost', () =>
  withServer(async ({ s3, parts }) => {
    const bucket = await makeBucket(s3)
    const body = Buffer.alloc(3 * 2 ** 20, 7)
    await s3.send({ method: 'PUT', bucket, path: '/big', body, headers: [[':acl', 'public-read']] })
    const { readers } = parts.store.context
    const { socket } = await Wire.open(s3.port)
    // Nothing is read from the socket, so responses fill it and the others wait. Not every runtime starts them all.
    socket.pause()
    socket.write(`GET /big HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n\r\n`.repeat(PIPELINED))
    assert(await until(() => readers.count > 0))
    for (let turns = 0; turns < 200; turns++) await turn()
    socket.resetAndDestroy()
    assert(await until(() => readers.count === 0))
  }))

test('queued requests of a disconnected client release their slots', () =>
  withServer(async ({ s3, parts }) => {
    const bucket = await makeBucket(s3)
    const body = Buffer.alloc(16 * 2 ** 20, 7)
    await s3.send({ method: 'PUT', bucket, path: '/big', body, headers: [[':acl', 'public-read']] })
    const host = `Host: ${bucket}.${BASE_HOST}\r\n`
    const waiting = `PUT /k HTTP/1.1\r\n${host}Content-Length: 0\r\n\r\n`.repeat(90)
    const { readers } = parts.store.context
    // More than the limit, a connection's share at a time. The first response is not read: all others wait.
    for (let sent = 0; sent <= ADMISSION_LIMITS.requestsMax; sent += 90) {
      const { socket } = await Wire.open(s3.port)
      socket.pause()
      socket.write(`GET /big HTTP/1.1\r\n${host}\r\n${waiting}`)
      assert(await until(() => readers.count > 0))
      for (let turns = 0; turns < 20; turns++) await turn()
      socket.resetAndDestroy()
      assert(await until(() => readers.count === 0))
    }
    assert.equal((await s3.send({ method: 'GET', bucket, path: '/' })).status, 200)
  }))

const CONNECT = 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n'

inBoth('A51: CONNECT is never answered in place of an earlier request', async client => {
  const bucket = await makeBucket(client)
  const stored: Sending = { ...upload(bucket), body: 'one' }
  const wire = (await Wire.open(client.port)).write(client.head(stored), stored.body!, CONNECT)
  assert.equal(await wire.answer(), undefined)
  const alone = await (await Wire.open(client.port)).write(CONNECT).answer()
  assert.deepEqual([alone?.status, alone?.code], [405, 'MethodNotAllowed'])
})

inBoth('A51: requests before CONNECT release everything they hold', async (client, { parts, log }) => {
  const bucket = await makeBucket(client)
  const big: Sending = { ...upload(bucket), path: '/big', body: Buffer.alloc(8 * 2 ** 20, 7) }
  await client.send(big)
  const { readers } = parts.store.context
  const { socket } = await Wire.open(client.port)
  // Nothing is read from the socket: the first response fills it, and the others wait.
  socket.pause()
  const asked = (method: string): string => client.head({ ...big, method, body: '' })
  socket.write(asked('GET') + asked('GET') + asked('DELETE') + CONNECT)
  assert(await until(() => log.some(({ method }) => method === 'GET')))
  const isOver = await until(() => readers.count === 0)
  socket.destroy()
  assert(isOver)
  assert.equal((await client.send({ ...big, method: 'HEAD', body: '' })).status, 200)
  assert(!log.some(({ method }) => method === 'DELETE'))
})

inBoth('RFC 9112, 9.3.2: pipelined requests take effect in order', async client => {
  const bucket = await makeBucket(client)
  const asked = (method: string, body?: string): string =>
    client.head({ method, bucket, path: '/k', ...(body !== undefined && { body }) }) + (body ?? '')
  const wire = await Wire.open(client.port)
  const [first, second] = ['one', 'two'.repeat(5_000)]
  const round = [asked('PUT', first), asked('GET'), asked('GET'), asked('PUT', second), asked('GET'), asked('DELETE')]
  wire.write([...round, asked('GET'), asked('PUT', first), asked('PUT', second), asked('GET')].join(''))
  const said: string[] = []
  for (let n = 0; n < 10; n++) {
    const answer = await wire.answer()
    said.push(`${answer?.status} ${answer?.code || answer?.body.toString()}`.trim())
  }
  const [one, two] = [`200 ${first}`, `200 ${second}`]
  assert.deepEqual(said, ['200', one, one, '200', two, '204', '404 NoSuchKey', '200', '200', two])
})

inBoth('G4: a client of HTTP/1.0 does not know 100 Continue, and gets none', async client => {
  const bucket = await makeBucket(client)
  const body = 'body'
  const head = client.head({ method: 'PUT', bucket, path: '/k', body, headers: [WAIT] })
  const answer = await exchange(client.port, head.replace('HTTP/1.1', 'HTTP/1.0'), body)
  assert.equal(answer?.status, 200)
  assert.equal((await client.send({ method: 'GET', bucket, path: '/k' })).body.toString(), body)
})

inBoth('a body is complete however it is split from its head, and the connection is kept', async client => {
  const bucket = await makeBucket(client)
  const wire = await Wire.open(client.port)
  for (const length of [1, 4_096, 20_000]) {
    const body = Buffer.alloc(length, `${length}`)
    const sent = { method: 'PUT', bucket, path: '/k', body }
    const head = Buffer.from(client.head(sent), 'latin1')
    for (const cut of [0, head.length, head.length + (length >> 1), head.length + length - 1]) {
      const all = Buffer.concat([head, body])
      wire.write(all.subarray(0, cut))
      for (let turns = 0; turns < 20; turns++) await turn()
      const answer = await wire.write(all.subarray(cut)).answer()
      assert.deepEqual([answer?.status, answer?.headers.get('connection')], [200, 'keep-alive'])
      assert.deepEqual((await client.send({ method: 'GET', bucket, path: '/k' })).body, body)
    }
  }
  assert(!wire.isClosed)
})

inBoth('A48: a stalled body is 400 RequestTimeout after 20 seconds', async (client, { pass, clock }) => {
  const bucket = await makeBucket(client)
  const wire = (await Wire.open(client.port)).write(client.head(upload(bucket, [WAIT])))
  assert.equal((await wire.answer())?.status, 100)
  const since = clock.now()
  wire.write('x'.repeat(1000))
  assert(
    await until(
      () => wire.hasAnswer,
      () => pass(1_000),
    ),
  )
  const answer = await wire.answer()
  assert.deepEqual([answer?.status, answer?.code], [400, 'RequestTimeout'])
  assert.equal(answer?.headers.get('connection'), 'close')
  assert(clock.now() - since >= 20_000)
  await wire.closed()
  assert.equal(await isThere(client, bucket), false)
})

inBoth('A48: a very slow body is 400 RequestTimeout', async (client, { pass, clock }) => {
  const bucket = await makeBucket(client)
  const wire = (await Wire.open(client.port)).write(client.head(upload(bucket, [WAIT])))
  assert.equal((await wire.answer())?.status, 100)
  const since = clock.now()
  // Never idle for 20 seconds on the server's clock, and never fast.
  for (let sent = 0; !wire.hasAnswer && sent < 1_000; sent++) {
    wire.write('x'.repeat(100))
    await until(() => wire.socket.writableLength === 0)
    for (let turns = 0; turns < 20; turns++) await turn()
    pass(2_000)
  }
  const answer = await wire.answer()
  assert.deepEqual([answer?.status, answer?.code], [400, 'RequestTimeout'])
  assert(clock.now() - since >= 60_000, `after ${clock.now() - since} ms`)
  await wire.closed()
})

inBoth('A48: a connection with an incomplete head is closed within 60 seconds', async (client, { pass }) => {
  const silent = await Wire.open(client.port)
  const begun = (await Wire.open(client.port)).write('GET / HTTP/1.1\r\nHost: ')
  const kept = (await Wire.open(client.port)).write(`GET / HTTP/1.1\r\nHost: ${BASE_HOST}\r\n\r\n`)
  assert.equal((await kept.answer())?.status, 403)
  assert(!kept.isClosed, 'kept alive')
  pass(59_000)
  kept.write(`GET / HTTP/1.1\r\nHost: ${BASE_HOST}\r\n\r\n`)
  assert.equal((await kept.answer())?.status, 403)
  pass(1_000)
  await begun.closed()
  assert(!kept.isClosed, 'its time began anew with its answer')
  pass(60_000)
  await kept.closed()
  // A silent connection may be accepted only a second after it was made.
  while (!silent.isClosed) {
    pass(60_000)
    await turn()
  }
})

test('a response that the client does not read is abandoned and releases its resources', () =>
  withServer(async ({ s3, parts, pass }) => {
    const bucket = await makeBucket(s3)
    const body = Buffer.alloc(16 * 2 ** 20, 7)
    await s3.send({ method: 'PUT', bucket, path: '/big', body, headers: [[':acl', 'public-read']] })
    const { readers } = parts.store.context
    const { socket } = await Wire.open(s3.port)
    socket.pause()
    socket.write(`GET /big HTTP/1.1\r\nHost: ${bucket}.${BASE_HOST}\r\n\r\n`)
    assert(await until(() => readers.count > 0))
    assert(
      await until(
        () => readers.count === 0,
        () => pass(1_000),
      ),
    )
    socket.destroy()
  }))

inBoth('a truncated body stores nothing and is reported', async (client, { log }) => {
  const bucket = await makeBucket(client)
  const wire = (await Wire.open(client.port)).write(client.head(upload(bucket, [WAIT])))
  assert.equal((await wire.answer())?.status, 100)
  wire.write('x'.repeat(1000))
  wire.socket.end()
  // Bun closes the connection when one side does, so the response cannot be sent.
  const answer = await wire.answer()
  if (answer !== undefined) {
    assert.deepEqual([answer.status, answer.code], [400, 'IncompleteBody'])
    const counts = /<NumberBytesExpected>(\d+)<.*<NumberBytesProvided>(\d+)</.exec(answer.body.toString())
    assert.deepEqual(counts?.slice(1), ['200000', '1000'])
  } else assert(process.versions.bun !== undefined)
  await wire.closed()
  assert(await until(() => log.some(line => line.code === 'IncompleteBody')))
  assert.equal(await isThere(client, bucket), false)
  assert(!log.some(line => line.level === 'error'))
})

inBoth('a client that disconnects during its body is logged as aborted, not as an error', async (client, served) => {
  const { log, parts } = served
  const bucket = await makeBucket(client)
  for (const size of [200_000, 3 * 2 ** 20]) {
    const before = log.length
    const what = { ...upload(bucket, [WAIT]), body: Buffer.alloc(size, 7) }
    const wire = (await Wire.open(client.port)).write(client.head(what))
    assert.equal((await wire.answer())?.status, 100)
    wire.write(Buffer.alloc(size - 1, 7))
    await until(() => wire.socket.writableLength === 0)
    wire.socket.resetAndDestroy()
    assert(await until(() => log.length > before))
    const [line] = log.slice(before)
    assert.deepEqual(
      [line?.level, line?.code, line?.aborted, line?.operation],
      ['info', 'IncompleteBody', true, 'PutObject'],
    )
  }
  assert(await until(() => parts.store.context.drafts.count === 0))
  assert(!log.some(line => line.level === 'error'))
  assert.equal(await isThere(client, bucket), false)
})

inBoth('a refused upload is answered while its body is still arriving, then disconnected', async (client, { pass }) => {
  const bucket = await makeBucket(client)
  const wire = (await Wire.open(client.port)).write(client.head({ ...upload(bucket), as: null }))
  wire.write(Buffer.alloc(10_000, 7))
  const answer = await wire.answer()
  assert.deepEqual([answer?.status, answer?.code], [403, 'AccessDenied'])
  assert.equal(answer?.headers.get('connection'), 'close')
  // Bytes in flight when the response arrives do not reset the connection; a moment later no more are accepted.
  wire.write(Buffer.alloc(10_000, 7))
  for (let turns = 0; turns < 500; turns++) await turn()
  assert(!wire.isClosed)
  pass(2_000)
  await wire.closed()
})

inBoth('a client that keeps sending a refused upload receives the response first', async client => {
  const bucket = await makeBucket(client)
  const body = Buffer.alloc(8 * 2 ** 20, 7)
  const wire = (await Wire.open(client.port)).write(client.head({ ...upload(bucket), body, as: null }), body)
  const answer = await wire.answer()
  assert.deepEqual([answer?.status, answer?.code], [403, 'AccessDenied'])
  await wire.closed()
})

inBoth('all pipelined requests are answered, even if the last one closes the connection', async client => {
  const bucket = await makeBucket(client)
  const stored: Sending = { method: 'PUT', bucket, path: '/k', body: Buffer.alloc(100_000, 7) }
  // Its body is not read, and it is refused while the previous one is still being stored.
  const refused: Sending = { method: 'PUT', bucket, path: '/k?torrent', body: 'never read' }
  const wire = await Wire.open(client.port)
  for (const one of [stored, refused]) wire.write(client.head(one)).write(one.body!)
  assert.deepEqual([(await wire.answer())?.status, (await wire.answer())?.status], [200, 501])
  await wire.closed()
})

for (const [what, last] of Object.entries<Partial<Sending>>({
  'an upload is refused': { as: null },
  'it waits to be told to go on': { as: null, headers: [WAIT] },
  'nobody reads its body': { method: 'GET' },
})) {
  inBoth(
    `RFC 9112, 9.6: requests after a closing response are not executed: ${what}`,
    async (client, { log, pass }) => {
      const bucket = await makeBucket(client)
      const ended: Sending = { ...upload(bucket), path: '/no', body: 'never read', ...last }
      const wire = await Wire.open(client.port)
      for (const one of [ended, { ...upload(bucket), body: 'one' }, { ...upload(bucket), body: 'two' }]) {
        wire.write(client.head(one), one.body!)
      }
      assert.equal((await wire.answer())?.headers.get('connection'), 'close')
      for (let turns = 0; turns < 500; turns++) await turn()
      pass(2_000)
      assert.equal(await wire.answer(), undefined)
      assert.deepEqual(
        log.filter(({ resource }) => resource === `/${bucket}/k`),
        [],
      )
      assert.equal(await isThere(client, bucket), false)
    },
  )
}

for (const [what, first] of Object.entries<(head: string) => string>({
  'that says so': head => head.replace('\r\n', '\r\nConnection: close\r\n'),
  'of HTTP/1.0': head => head.replace('HTTP/1.1', 'HTTP/1.0'),
})) {
  inBoth(`RFC 9112, 9.6: nothing is answered after the last request: one ${what}`, async (client, { log, pass }) => {
    const bucket = await makeBucket(client)
    const put = upload(bucket)
    const wire = await Wire.open(client.port)
    const lines = log.length
    wire.write(first(client.head(put)), put.body!, client.head(put), put.body!)
    assert.equal((await wire.answer())?.status, 200)
    for (let turns = 0; turns < 500; turns++) await turn()
    pass(2_000)
    assert.equal(await wire.answer(), undefined)
    assert.equal(log.length, lines + 1)
  })
}

/** A large response that is not read yet, followed by a refused upload: both requests are sent at once. */
async function refusedBehind(client: Client, { log }: Served, bodyBytes: number): Promise<{ wire: Wire; big: Buffer }> {
  const bucket = await makeBucket(client)
  const big = Buffer.alloc(2 ** 20, 7)
  await client.send({ method: 'PUT', bucket, path: '/big', body: big })
  const wire = await Wire.open(client.port)
  wire.socket.pause()
  const refused = client.head({ ...upload(bucket), path: '/no', body: Buffer.alloc(bodyBytes), as: null })
  wire.write(client.head({ method: 'GET', bucket, path: '/big' }), refused, Buffer.alloc(bodyBytes))
  assert(await until(() => log.some(line => line.resource === `/${bucket}/no`)))
  for (let turns = 0; turns < 500; turns++) await turn()
  return { wire, big }
}

for (const [size, bodyBytes] of [
  ['a little', 2 ** 20],
  ['more than is thrown away', 24 * 2 ** 20],
] as const) {
  inBoth(`a response is complete although the next upload is refused: ${size} of it arrives`, async (...given) => {
    const { wire, big } = await refusedBehind(...given, bodyBytes)
    given[1].pass(3_000)
    wire.socket.resume()
    const [first, second] = [await wire.answer(), await wire.answer()]
    assert(first?.body.equals(big), `${first?.body.length} of ${big.length} bytes`)
    assert.deepEqual([second?.status, second?.code], [403, 'AccessDenied'])
    assert.equal(second?.headers.get('connection'), 'close')
    wire.socket.destroy()
    given[1].pass(20_000)
  })
}

inBoth('a client that does not read the response before a refused upload is cut after 20 seconds', async (...given) => {
  const { wire } = await refusedBehind(...given, 24 * 2 ** 20)
  given[1].pass(20_000)
  wire.socket.resume()
  await wire.closed()
})

inBoth('100 Continue for a pipelined request is sent between responses, never inside one', async client => {
  const bucket = await makeBucket(client)
  const stored: Sending = { method: 'PUT', bucket, path: '/k', body: Buffer.alloc(100_000, 7) }
  const batch: Sending = { method: 'POST', bucket, path: '/?delete', body: 'no document', headers: [WAIT, MD5] }
  const wire = await Wire.open(client.port)
  for (const one of [stored, batch]) wire.write(client.head(one)).write(one.body!)
  assert.equal((await wire.answer())?.status, 200)
  const next = await wire.answer()
  const last = next?.status === 100 ? await wire.answer() : next
  assert.deepEqual([last?.status, last?.code], [400, 'MalformedXML'])
})
