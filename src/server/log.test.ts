import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { RequestLine } from '../telemetry/exchange-recorder.ts'
import { readConfig } from './config.ts'
import {
  type LogLevel,
  LogLines,
  renderJsonLine,
  renderLine,
  renderTextLine,
  ServerLog,
  timestamp,
  withLogLevel,
} from './log.ts'

test('a log level drops less important records and keeps those without a level', () => {
  const told = (least: LogLevel): unknown[] => {
    const lines: unknown[] = []
    const logger = withLogLevel(least, {
      log: ({ n }) => lines.push(n),
      notice: line => lines.push(line),
      abort: () => {},
    })
    for (const [n, level] of ['error', 'warn', 'info', undefined, 'nonsense'].entries()) logger.log({ level, n })
    logger.notice('once')
    return lines
  }
  assert.deepEqual(told('info'), [0, 1, 2, 3, 4, 'once'])
  assert.deepEqual(told('warn'), [0, 1, 3, 4, 'once'])
  assert.deepEqual(told('error'), [0, 3, 4, 'once'])
})

test('an unknown log level is refused', () => {
  assert.equal(readConfig([], {})?.logLevel, 'info')
  assert.equal(readConfig([], { HOLDFAST_LOG_LEVEL: 'warn' })?.logLevel, 'warn')
  assert.throws(() => readConfig(['--log-level', 'loud'], {}), /error, warn or info, not loud/)
})

const TIME = '2026-11-16T12:00:00.000Z'
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/

/** The lines of a log written to this stream. */
function logged(
  isTTY: boolean,
  env: NodeJS.ProcessEnv,
  record: Readonly<Record<string, unknown>>,
  format?: 'auto' | 'text' | 'json',
): string {
  let out = ''
  const log = new ServerLog({ isTTY, write: text => (out += text) }, env)
  if (format !== undefined) log.use({ logFormat: format })
  log.log(record)
  log.flush()
  return out
}

const requestLine = (outcome: object, request: object = {}): RequestLine =>
  new RequestLine(
    {
      operationName: 'GetObject',
      dialect: { name: 's3' },
      resource: '/photos/cat.jpg',
      code: 'ok',
      response: { status: 200 },
      caller: { kind: 'account', accessKey: 'AKROOT' },
      ...outcome,
    } as unknown as RequestState,
    {
      requestId: '0123456789ABCDEF',
      status: (outcome as { response?: { status: number } }).response?.status ?? 200,
      remoteAddress: '127.0.0.1',
      milliseconds: 1.24,
      request: { method: 'GET', headers: [], ...request },
    } as unknown as ExchangeRecord,
  )

test('on a terminal a line is text, otherwise JSON, and either has the time', () => {
  const record = { level: 'warn', message: 'the disk is slow', worker: 7 }
  const { time, ...rest } = JSON.parse(logged(false, {}, record)) as Record<string, unknown>
  assert.match(String(time), STAMP)
  assert.deepEqual(rest, record)
  const [stamp, ...words] = logged(true, { NO_COLOR: '1' }, record).trimEnd().split(' ')
  assert.match(stamp!, STAMP)
  assert.equal(words.join(' '), 'warn  the disk is slow, worker: 7')
  for (const [isTTY, format, isJson] of [
    [true, 'auto', false],
    [false, 'auto', true],
    [true, 'json', true],
    [false, 'text', false],
  ] as const) {
    assert.equal(logged(isTTY, { NO_COLOR: '1' }, record, format).startsWith('{'), isJson, `${isTTY} ${format}`)
  }
})

test('colours are used only on a terminal that has them, and not with NO_COLOR', () => {
  const isColoured = (isTTY: boolean, env: NodeJS.ProcessEnv): boolean =>
    logged(isTTY, env, { level: 'error', message: 'x' }, 'text').includes('\x1b[')
  assert(isColoured(true, {}))
  assert(isColoured(true, { NO_COLOR: '', TERM: 'xterm' }))
  assert(!isColoured(true, { NO_COLOR: '1' }))
  assert(!isColoured(true, { TERM: 'dumb' }))
  assert(!isColoured(false, {}))
})

test('a request is one readable line of text', () => {
  const text = renderTextLine(false)
  assert.equal(
    text(requestLine({}), TIME),
    `${TIME} info  200 GET /photos/cat.jpg GetObject s3 1.2ms AKROOT 127.0.0.1 0123456789ABCDEF`,
  )
  const response = { status: 403, message: 'Access Denied' }
  const refused = { response, code: 'AccessDenied', refusalReason: 'nothing allows it', caller: undefined }
  assert.equal(
    text(requestLine(refused), TIME),
    `${TIME} info  403 GET /photos/cat.jpg GetObject s3 1.2ms anonymous 127.0.0.1 0123456789ABCDEF ` +
      'AccessDenied: Access Denied (nothing allows it)',
  )
  const nowhere = { response: { status: 400, message: 'No.' }, code: 'InvalidRequest', operationName: 'unknown' }
  const host = { headers: [['Host', 'nobody.example']] }
  assert.match(text(requestLine(nowhere, host), TIME), / InvalidRequest: No\. host nobody\.example$/)
})

test('no client can add a line, move the cursor or forge a field', () => {
  const odd = fc.string({ unit: 'binary' }).map(text => `/b/${text}`)
  fc.assert(
    fc.property(odd, resource => {
      const line = renderTextLine(false)(requestLine({ resource, refusalReason: resource }, { method: resource }), TIME)
      assert.doesNotMatch(line, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
    }),
  )
  assert.match(
    renderTextLine(false)(requestLine({ resource: '/b/x 200 GET /y' }), TIME),
    / GET "\/b\/x 200 GET \/y" GetObject /,
  )
})

test('an error keeps the lines of its stack, each below its record', () => {
  const error = 'Error: gone\n    at somewhere\n2026-11-16T12:00:00.000Z error \x1b[2J'
  const [first, ...rest] = renderTextLine(false)({ level: 'error', requestId: 'ID', error }, TIME).split('\n')
  assert.equal(first, `${TIME} error requestId: ID, error: Error: gone`)
  assert(rest.every(line => line.startsWith('    ')))
  assert.match(rest.at(-1)!, /\\u001b\[2J$/)
})

test('a line is cut to what a pipe takes at once, in either format', () => {
  for (const render of [renderJsonLine, renderTextLine(false)]) {
    for (const record of [
      requestLine({ resource: `/b/${'ü'.repeat(1024)}`, refusalReason: 'w'.repeat(9000) }),
      { level: 'error', error: 'x'.repeat(100_000), nested: { list: ['y'.repeat(5000)] } },
    ]) {
      const line = renderLine(record, TIME, render)
      assert(Buffer.byteLength(line) <= 4096, String(Buffer.byteLength(line)))
      assert(line.endsWith('\n') && line.includes('…') && line.includes(TIME))
      if (render === renderJsonLine) assert.equal((JSON.parse(line) as { time: string }).time, TIME)
    }
  }
})

test('timestamps equal those of Date', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), now => {
      assert.equal(timestamp(now), new Date(now).toISOString())
      assert.equal(timestamp(now + 1), new Date(now + 1).toISOString())
    }),
  )
})

test('an unknown log format is refused', () => {
  assert.equal(readConfig([], {})?.logFormat, 'auto')
  assert.equal(readConfig([], { HOLDFAST_LOG_FORMAT: 'json' })?.logFormat, 'json')
  assert.throws(() => readConfig(['--log-format', 'xml'], {}), /auto, text or json, not xml/)
})

const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

const linesTo = (written: string[]): LogLines<{ readonly line: string }> =>
  new LogLines(
    ({ line }, now) => `${line} at ${now}\n`,
    text => written.push(text),
  )

test('log lines of one event-loop turn are written together and in order', async () => {
  const written: string[] = []
  const lines = linesTo(written)
  lines.add('one\n', 1)
  lines.add({ line: 'two' }, 2)
  lines.add('three\n', 3)
  assert.deepEqual(written, [])
  await turn()
  assert.deepEqual(written, ['one\ntwo at 2\nthree\n'])
  lines.add('four\n', 4)
  await turn()
  assert.deepEqual(written, ['one\ntwo at 2\nthree\n', 'four\n'])
})

test('log lines: a flush writes the waiting lines once', async () => {
  const written: string[] = []
  const lines = linesTo(written)
  lines.add('one\n', 1)
  lines.flush()
  lines.flush()
  await turn()
  assert.deepEqual(written, ['one\n'])
})

test('log lines: a turn that never ends does not keep all records', () => {
  const written: string[] = []
  const lines = linesTo(written)
  for (let n = 0; n < 1_000; n++) lines.add(`${n}\n`, n)
  assert(written.join('').split('\n').length > 900)
})

test('a record is logged as it is now, and one that cannot be fails its caller alone', () => {
  let out = ''
  const log = new ServerLog({ write: text => (out += text) }, {})
  const list = [1]
  log.log({ list })
  list.push(2)
  assert.throws(() => log.log({ list: 1n }))
  log.log(requestLine({}))
  log.flush()
  const [first, second] = out.split('\n').map(line => line && (JSON.parse(line) as Record<string, unknown>)) as [
    Record<string, unknown>,
    Record<string, unknown>,
  ]
  assert.deepEqual([first.list, second.operation], [[1], 'GetObject'])
})

test('a line has the time and the format of the moment when it was logged', async () => {
  let out = ''
  const log = new ServerLog({ write: text => (out += text) }, {})
  const before = Date.now()
  log.log({ level: 'info', message: 'early' })
  const after = Date.now()
  while (Date.now() === after);
  log.use({ logFormat: 'text' })
  log.log({ level: 'info', message: 'late' })
  await turn()
  const [early, late] = out.split('\n') as [string, string]
  const time = Date.parse((JSON.parse(early) as { time: string }).time)
  assert(before <= time && time <= after)
  assert.match(late, /info {2}late$/)
})

test('log lines: no write is longer than what a pipe takes at once, and nothing is lost', async () => {
  const line = fc.string({ unit: 'grapheme', maxLength: 900 }).map(text => `${text.replaceAll('\n', ' ')}\n`)
  await fc.assert(
    fc.asyncProperty(fc.array(line, { maxLength: 40 }), async all => {
      const written: string[] = []
      const lines = linesTo(written)
      for (const one of all) lines.add(one, 0)
      await turn()
      assert.equal(written.join(''), all.join(''))
      for (const text of written) {
        const isOneLine = text.indexOf('\n') === text.length - 1
        assert(isOneLine || Buffer.byteLength(text) <= 4096)
        assert(text.endsWith('\n'))
      }
    }),
  )
})
