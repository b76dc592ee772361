/** Connections that carry reads and writes, and what the runtime takes over. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { bothExchange, type Compared, comparable, counted, withComparison } from './compared-listeners.ts'
import { bothAnswerOneByOne, get, inPieces, ON_NODE, oneByOne, put, statuses, VARIANTS } from './one-connection.ts'
import { asking, open, received } from './raw-exchange.ts'
import { BASE_HOST, type Sending, type Served } from './server.ts'
import { turn, until } from './wire.ts'

type Headers = [string, string][]

const md5 = (text: string): [string, string] => ['content-md5', createHash('md5').update(text).digest('base64')]

/** Signed, with its body. */
function request({ s3 }: Served, path: string, what: Partial<Sending> & { readonly method: string }): string {
  return s3.head({ host: BASE_HOST, path, ...what }) + (what.announced === undefined ? (what.body ?? '') : '')
}

const BATCH = '<Delete><Object><Key>changed</Key></Object></Delete>'
const TAGS = '<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>'

/** Requests that are answered on the socket. None of them changes what another one answers. */
const HERE = {
  small: served => get(served, 'small'),
  packed: served => get(served, 'packed'),
  long: served => get(served, 'long'),
  missing: served => get(served, 'missing'),
  'head of a missing one': served => get(served, 'missing', { method: 'HEAD' }),
  range: served => get(served, 'small', { headers: [['range', 'bytes=0-0']] }),
  'a range that is a stream': served => get(served, 'long', { headers: [['range', 'bytes=1-600000']] }),
  unmodified: served => get(served, 'small', { headers: [['if-modified-since', 'Fri, 01 Jan 2100 00:00:00 GMT']] }),
  list: served => request(served, '/plain?list-type=2&prefix=s', { method: 'GET' }),
  policy: served => request(served, '/plain?policy', { method: 'GET' }),
  write: served => put(served, 'body'),
  'an empty write': served => put(served, ''),
  'a long write': served => put(served, 'long '.repeat(9_000)),
  'a wrong digest': served =>
    request(served, '/plain/changed', { method: 'PUT', body: 'body', headers: [md5('another')] }),
  'a write of metadata': served =>
    request(served, '/plain/changed', { method: 'PUT', body: 'b', headers: [[':meta-name', 'caf\xc3\xa9']] }),
  tags: served => request(served, '/plain/summed?tagging', { method: 'PUT', body: TAGS, headers: [md5(TAGS)] }),
  remove: served => request(served, '/plain/changed', { method: 'DELETE' }),
  batch: served => request(served, '/plain?delete', { method: 'POST', body: BATCH, headers: [md5(BATCH)] }),
} as const satisfies Readonly<Record<string, (served: Served) => string>>

/** Requests after which the connection ends or belongs to the runtime. */
const ELSEWHERE = {
  'a refused write': served => request(served, '/foreign/changed', { method: 'PUT', body: 'not read' }),
  'a write that is too long': served => put(served, 'x'.repeat(70_000)),
  copy: served => request(served, '/plain/changed', { method: 'PUT', headers: [[':copy-source', '/plain/small']] }),
  'an unknown method': served => request(served, '/plain/changed', { method: 'PATCH' }),
  'a read with a body': served => request(served, '/plain/small', { method: 'GET', body: 'body' }),
  chunks: served => `${put(served, '').replace('Content-Length: 0', 'Transfer-Encoding: chunked')}2\r\nab\r\n0\r\n\r\n`,
  bad: () => 'GET / HTTP/1.1\r\nHost : h\r\n\r\n',
} as const satisfies Readonly<Record<string, (served: Served) => string>>

for (const [title, options] of VARIANTS) {
  test(`every request of a connection is answered on the socket until one is for the runtime: ${title}`, ON_NODE, () =>
    withComparison(async (compared, served) => {
      const here = Object.values(HERE).map(make => make(served))
      await bothAnswerOneByOne(compared, here)
      assert.deepEqual(counted(compared.metrics[0]), counted(compared.metrics[1]))
      assert.equal(compared.answeredOnSocket + compared.handledOnSocket, here.length)
      assert.equal(compared.answeredOnSocket, 3)
      const small = HERE.small(served)
      const answers = await bothAnswerOneByOne(compared, [small, ELSEWHERE.copy(served), small, HERE.write(served)])
      assert.deepEqual(statuses(answers), ['200', '200', '200', '200'])
      assert.deepEqual([compared.answeredOnSocket, compared.handledOnSocket], [1, 0])
    }, options),
  )
}

test('a read, a write and a read again', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const answers = await bothAnswerOneByOne(compared, [
      get(served, 'small'),
      put(served, 'one'),
      get(served, 'changed'),
      put(served, 'two'),
      asking(get(served, 'changed'), 'close'),
    ])
    assert.deepEqual(statuses(answers), ['200', '200', '200', '200', '200'])
    assert.deepEqual(answers.match(/\b(one|two)(?=HTTP|$)/g), ['one', 'two'])
    assert.deepEqual([compared.answeredOnSocket, compared.handledOnSocket], [3, 2])
  }),
)

for (const [name, make] of Object.entries(ELSEWHERE)) {
  test(`answered as by the runtime alone: ${name}`, ON_NODE, () =>
    withComparison(async (compared, served) => {
      await bothAnswerOneByOne(compared, [HERE.small(served), make(served), HERE.small(served)])
    }),
  )
}

const MAKERS = [...Object.values(HERE), ...Object.values(HERE), ...Object.values(ELSEWHERE)]

/**
 * Their responses end the connection. Bytes behind them reset it when they are not read, and what the client then loses
 * of earlier responses is a matter of time.
 */
const ENDING: ReadonlySet<unknown> = new Set([
  ELSEWHERE['a refused write'],
  ELSEWHERE['a read with a body'],
  ELSEWHERE.chunks,
  ELSEWHERE.bad,
])

const untilEnding = <T>(makers: readonly T[]): readonly T[] => {
  const at = makers.findIndex(make => ENDING.has(make))
  return at < 0 ? makers : makers.slice(0, at + 1)
}

test('any requests, cut anywhere, are answered as by the runtime alone', ON_NODE, () =>
  withComparison(async (compared, served) => {
    let [onSocket, handled] = [0, 0]
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom(...MAKERS), { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(2_000), { maxLength: 3 }),
        fc.boolean(),
        async (makers, cuts, together) => {
          const requests = untilEnding(makers).map(make => make(served))
          requests[requests.length - 1] = asking(requests.at(-1)!, 'close')
          const whole = requests.join('')
          const at = [0, ...cuts.filter(cut => cut < whole.length).sort((a, b) => a - b), whole.length]
          const pieces = at.slice(1).map((end, i) => whole.slice(at[i], end))
          await bothExchange(compared, '', together ? inPieces(pieces) : oneByOne(requests))
          onSocket += compared.answeredOnSocket
          handled += compared.handledOnSocket
        },
      ),
      { numRuns: 200 },
    )
    assert.ok(onSocket >= 10, `${onSocket} reads were answered on the socket`)
    assert.ok(handled >= 60, `${handled} requests were handled on the socket`)
  }),
)

const headOf = (whole: string): number => whole.indexOf('\r\n\r\n') + 4

test('a head and its body may arrive one after the other', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const whole = asking(put(served, 'the body'), 'close')
    const at = headOf(whole)
    for (const cuts of [[at], [at + 3], [at, at + 1, at + 2], [at - 1, at]]) {
      const pieces = [0, ...cuts].map((from, index) => whole.slice(from, cuts[index]))
      await bothExchange(compared, '', inPieces(pieces))
      // A head that arrives in parts is for the runtime.
      assert.equal(compared.handledOnSocket, cuts[0]! < at ? 0 : 1)
    }
  }),
)

test('a body that does not follow its head is awaited by the runtime', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const whole = asking(put(served, 'the body'), 'close')
    const late = async ({ transport }: Compared, port: number): Promise<string> => {
      const socket = await open(port, transport)
      const all = received(socket)
      socket.write(whole.slice(0, headOf(whole)))
      const begun = (): number => compared.metrics[port === compared.ports[0] ? 0 : 1].samples()[0]![2]
      assert(await until(() => begun() === 1))
      socket.write(whole.slice(headOf(whole)))
      return comparable(await all)
    }
    assert.match(await bothExchange(compared, '', late), /^HTTP\/1\.1 200 /)
    assert.equal(compared.handledOnSocket, 0)
  }),
)

test('a client that ends its side within a body', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const whole = put(served, 'the body')
    const ending = async ({ transport }: Compared, port: number): Promise<string> => {
      const socket = await open(port, transport)
      socket.end(whole.slice(0, -1))
      return comparable(await received(socket))
    }
    assert.match(await bothExchange(compared, '', ending), /IncompleteBody/)
  }),
)

test('a write that is refused before its body is sent', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const headers: Headers = [['x-unknown', 'x']]
    const refused = request(served, '/foreign/changed', { method: 'PUT', announced: 1_000, headers })
    const announced = async ({ transport }: Compared, port: number): Promise<string> => {
      const socket = await open(port, transport)
      socket.write(refused)
      socket.once('data', () => socket.end())
      return comparable(await received(socket))
    }
    assert.match(await bothExchange(compared, '', announced), /AccessDenied/)
  }),
)

/** Commits of metadata that wait until they are let go. */
function delayedCommits({ parts }: Served): { release(): void; readonly waiting: number } {
  const { meta } = parts.store.context
  const commit = meta.commit.bind(meta)
  const waits: (() => void)[] = []
  Object.assign(meta, {
    async commit(...args: Parameters<typeof commit>) {
      await new Promise<void>(resolve => waits.push(resolve))
      return commit(...args)
    },
  })
  return {
    release() {
      Object.assign(meta, { commit })
      for (const go of waits.splice(0)) go()
    },
    get waiting() {
      return waits.length
    },
  }
}

test('a request behind a write waits for it, and a server that stops answers the write', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const commits = delayedCommits(served)
    compared.states[0].length = 0
    const socket = await open(compared.ports[0], 'plain')
    const all = received(socket)
    socket.write(put(served, 'first'))
    assert(await until(() => commits.waiting > 0))
    socket.write(get(served, 'changed'))
    for (let turns = 0; turns < 10; turns++) await turn()
    assert.equal(compared.states[0].length, 0)
    const closing = compared.listeners[0].close()
    commits.release()
    const answers = (await all).toString('latin1')
    assert.deepEqual(statuses(answers), ['200'])
    await closing
  }),
)

for (const [title, ends] of [
  ['that its client announced as the last', true],
  ['when the server stops', false],
] as const) {
  test(`no request is served behind a write ${title}`, ON_NODE, () =>
    withComparison(async (compared, served) => {
      const body = Buffer.alloc(2 ** 21, 'b')
      await served.s3.send({ method: 'PUT', bucket: 'plain', path: '/very-long', body })
      for (const behind of [put(served, 'second'), get(served, 'very-long')]) {
        const commits = delayedCommits(served)
        compared.states[0].length = 0
        const socket = await open(compared.ports[0], 'plain')
        const all = received(socket)
        socket.write(ends ? asking(put(served, 'first'), 'close') : put(served, 'first'))
        assert(await until(() => commits.waiting > 0))
        socket.write(behind)
        for (let turns = 0; turns < 10; turns++) await turn()
        const closing = ends ? undefined : compared.listeners[0].close()
        commits.release()
        assert.deepEqual(statuses((await all).toString('latin1')), ['200'])
        await closing
        assert.equal(compared.states[0].length, 1)
        assert.equal(compared.readers.count, 0)
        if (!ends) break
      }
    }),
  )
}

test('a client that leaves during a write takes nothing with it', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const commits = delayedCommits(served)
    const socket = await open(compared.ports[0], 'plain')
    compared.handledOnSocket = 0
    socket.write(put(served, 'unread'))
    assert(await until(() => commits.waiting > 0))
    assert.equal(compared.handledOnSocket, 1)
    socket.resetAndDestroy()
    for (let turns = 0; turns < 10; turns++) await turn()
    commits.release()
    assert(await until(() => compared.metrics[0].samples()[0]![2] === 0))
    assert.equal(compared.readers.count, 0)
    assert.equal(compared.logs[0].at(-1)!.aborted, true)
    assert.match(await bothAnswerOneByOne(compared, [get(served, 'changed')]), /unread$/)
  }),
)

test('a stream that breaks off closes its connection', ON_NODE, () =>
  withComparison(async (compared, served) => {
    const { blobs } = served.parts.store.context
    const read = blobs.read.bind(blobs)
    Object.assign(blobs, {
      async *read(...args: Parameters<typeof read>) {
        let count = 0
        for await (const chunk of read(...args)) {
          if (count++ > 0) throw new Error('the disk fails')
          yield chunk.subarray(0, 1_000)
        }
      },
    })
    compared.handledOnSocket = 0
    const socket = await open(compared.ports[0], 'plain')
    socket.write(HERE['a range that is a stream'](served))
    const answer = (await received(socket)).toString('latin1')
    assert.deepEqual(statuses(answer), ['206'])
    assert.ok(answer.length < 3_000, `${answer.length} characters`)
    assert.equal(compared.handledOnSocket, 1)
    assert.equal(compared.readers.count, 0)
  }),
)
