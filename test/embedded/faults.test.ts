/** Injected faults: each affects exactly the requests it matches, as often as requested, and nothing else. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import type { Exchange } from '../../src/edge/exchange.ts'
import { ConnectionCut } from '../../src/edge/fault-injection.ts'
import { RequestState } from '../../src/edge/request-state.ts'
import { FaultList } from '../../src/embedded/faults.ts'
import { StagedStream } from '../../src/lib/piece-stream.ts'
import { withFolder } from '../store/fixture.ts'
import { BUCKET, type Embedded, using } from './fixture.ts'

const LARGE = Buffer.alloc(3 * 2 ** 20, 'large')
const PACKED = Buffer.alloc(100_000, 'packed')

async function everywhere(use: (embedded: Embedded) => Promise<void>): Promise<void> {
  for (const dialect of ['svc', 's3'] as const) {
    await using({}, use, dialect)
    await withFolder(folder => using({ folder }, use, dialect))
  }
}

test('errors are injected by code, for matching requests, a given number of times', () =>
  everywhere(async ({ hf, put, get, send }) => {
    const slow = hf.faults.add({ match: { operation: 'PutObject', key: /^a/g }, times: 2, fault: 'slow-down' })
    const broken = hf.faults.add({ match: { method: 'get', bucket: BUCKET, key: 'b' }, fault: 'internal-error' })
    const answers = [await put('a1', 'x'), await put('b', 'x'), await put('a2', 'x'), await put('a3', 'x')]
    assert.deepEqual(
      answers.map(answer => [answer.status, answer.code()]),
      [
        [503, 'SlowDown'],
        [200, ''],
        [503, 'SlowDown'],
        [200, ''],
      ],
    )
    assert.equal((await get('a1')).status, 404, 'what was refused was not done')
    assert.equal((await get('b')).code(), 'InternalError')
    assert.equal((await send({ method: 'HEAD', path: '/b' })).status, 200)
    broken.remove()
    assert.equal((await get('b')).status, 200)
    assert.deepEqual([slow.hits, broken.hits], [2, 1])
  }))

test('of two matching faults the one added first applies', () =>
  using({}, async ({ hf, get }) => {
    hf.faults.add({ times: 1, fault: 'slow-down' })
    const second = hf.faults.add({ fault: 'internal-error' })
    assert.deepEqual([(await get('k')).status, (await get('k')).status], [503, 500])
    assert.equal(second.hits, 1)
    hf.faults.clear()
    assert.equal((await get('k')).status, 404)
  }))

test('an injected full disk fails matching writes in the same way as a real one', () =>
  everywhere(async ({ hf, put, get, send }) => {
    await put('full', 'before')
    const full = hf.faults.add({ match: { key: 'full' }, fault: 'disk-full' })
    for (const body of ['small', PACKED, LARGE]) {
      const [refused, taken] = await Promise.all([put('full', body), put('other', body)])
      assert.deepEqual([refused.status, refused.code()], [507, 'InsufficientStorage'])
      assert.equal(taken.status, 200)
      assert((await get('other')).body.equals(Buffer.from(body)))
    }
    assert.equal((await get('full')).body.toString(), 'before')
    assert.equal((await send({ method: 'DELETE', path: '/full' })).status, 204, 'room can still be made')
    assert.equal(full.hits, 5)
  }))

test('a delay holds a request back, and ends with its fault', () =>
  using({}, async ({ hf, put }) => {
    hf.faults.add({ match: { key: 'late' }, fault: { delay: 3_600_000 } })
    const brief = hf.faults.add({ match: { key: 'brief' }, fault: { delay: 20 } })
    const late = put('late', 'x')
    const started = performance.now()
    assert.equal((await put('brief', 'x')).status, 200)
    assert(performance.now() - started >= 19)
    assert.equal(brief.hits, 1)
    hf.faults.clear()
    assert.equal((await late).status, 200)
  }))

/** The body bytes received before the connection closes, and the announced length. Raw, as sent. */
function taken(hf: Embedded['hf'], key: string): Promise<{ bytes: number; announced: number }> {
  return new Promise(resolve => {
    const socket = connect(hf.port, '127.0.0.1', () =>
      socket.write(`GET /${BUCKET}/${key} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`),
    )
    let got = ''
    socket.setEncoding('latin1')
    socket.on('data', text => {
      got += text
    })
    socket.on('error', () => {})
    socket.on('close', () => {
      const [head = '', body = ''] = got.split(/\r\n\r\n(.*)/s)
      resolve({ bytes: body.length, announced: Number(/content-length: (\d+)/i.exec(head)?.[1]) })
    })
  })
}

async function publish({ send }: Embedded): Promise<void> {
  const statement = { Effect: 'Allow', Principal: '*', Action: '*', Resource: [`arn:aws:s3:::${BUCKET}/*`] }
  const body = JSON.stringify({ Version: '2012-10-17', Statement: [statement] })
  const answer = await send({ method: 'PUT', path: '/?policy', body })
  assert(answer.status < 300, answer.body.toString())
}

test('a response is cut after a given number of body bytes', () =>
  using({}, async embedded => {
    const { hf, put } = embedded
    await publish(embedded)
    for (const body of [Buffer.from('small'), PACKED, LARGE]) {
      await put('k', body)
      for (const bytes of [0, 3, body.length - 1]) {
        const fault = hf.faults.add({ match: { method: 'GET' }, times: 1, fault: { cutAfter: bytes } })
        const { bytes: got, announced } = await taken(hf, 'k')
        assert.equal(got, bytes)
        // Without any of the body, the head may be lost too.
        if (bytes > 0) assert.equal(announced, body.length)
        assert.equal(fault.hits, 1)
      }
      hf.faults.add({ times: 1, fault: { cutAfter: body.length } })
      assert.deepEqual(await taken(hf, 'k'), { bytes: body.length, announced: body.length })
    }
  }))

test('an upload is cut after a given number of bytes and stores nothing', () =>
  everywhere(async ({ hf, put, get }) => {
    await put('k', 'before')
    for (const body of [Buffer.from('small'), PACKED, LARGE]) {
      for (const bytes of [0, 3, body.length - 1]) {
        hf.faults.add({ match: { operation: 'PutObject' }, times: 1, fault: { cutAfter: bytes } })
        await assert.rejects(put('k', body))
      }
    }
    assert.equal((await get('k')).body.toString(), 'before')
  }))

test('a response is lost after its request took effect', () =>
  everywhere(async ({ hf, put, get, send }) => {
    hf.faults.add({ match: { key: 'k' }, times: 1, fault: 'lost-answer' })
    await assert.rejects(put('k', 'stored'))
    assert.equal((await get('k')).body.toString(), 'stored')
    hf.faults.add({ match: { method: 'HEAD' }, times: 1, fault: 'lost-answer' })
    await assert.rejects(send({ method: 'HEAD', path: '/k' }))
  }))

test('the body of a response that is lost is given up', async () => {
  const faults = new FaultList()
  faults.handle().add({ fault: 'lost-answer' })
  let isGivenUp = false
  const body = new StagedStream(() => ({
    read: () => undefined,
    cancel: () => {
      isGivenUp = true
    },
  }))
  const state = new RequestState()
  state.response = { status: 200, headers: [], body, close: false }
  const request = { operation: 'GetObject', method: 'GET', bucket: 'b', key: 'k' }
  await assert.rejects(
    faults.faultInjector(request, {} as Exchange, async () => state),
    ConnectionCut,
  )
  assert.equal(isGivenUp, true)
})

test('an injected cut is not logged as an error', async () => {
  const log: Readonly<Record<string, unknown>>[] = []
  await using({ log: line => log.push(line) }, async ({ hf, put }) => {
    hf.faults.add({ times: 1, fault: { cutAfter: 1 } })
    await assert.rejects(put('k', 'x y z'))
    hf.faults.add({ times: 1, fault: 'lost-answer' })
    await assert.rejects(put('k', 'x'))
  })
  assert.deepEqual(
    log.filter(({ level }) => level !== 'info'),
    [],
  )
})

test('an invalid fault is refused', () =>
  using({}, async ({ hf, get }) => {
    const bad: unknown[] = [
      { fault: 'explode' },
      { fault: {} },
      { fault: undefined },
      { fault: { delay: -1 } },
      { fault: { delay: 1, cutAfter: 1 } },
      { fault: { cutAfter: 1.5 } },
      { fault: 'slow-down', times: 0 },
      { fault: 'slow-down', match: { operation: 'PutObjekt' } },
    ]
    for (const rule of bad) assert.throws(() => hf.faults.add(rule as never), TypeError, JSON.stringify(rule))
    assert.equal((await get('k')).status, 404)
  }))
