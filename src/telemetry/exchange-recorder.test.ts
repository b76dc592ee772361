import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { RequestLine } from './exchange-recorder.ts'

/** Anything a client may put into a line: quotes, line ends, lone surrogates, control and bidirectional characters. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '\ud800', '\x7f', '\x1b[2J', '\x9b', '\u202e'),
)
const maybe = fc.option(text, { nil: undefined })
const TIME = '2026-11-16T12:00:00.000Z'

const lineOf = (outcome: object, exchange: object): RequestLine =>
  new RequestLine(
    outcome as RequestState,
    { request: { method: 'GET', headers: [] }, ...exchange } as unknown as ExchangeRecord,
  )

test('a log line is printable JSON of its fields, whatever a client sent', () => {
  const line = fc.record({
    method: text,
    host: maybe,
    remoteAddress: text,
    resource: text,
    message: maybe,
    why: maybe,
    accessKey: maybe,
    milliseconds: fc.double({ min: 0, max: 1e9, noNaN: true }),
    status: fc.integer({ min: 400, max: 599 }),
    aborted: fc.boolean(),
  })
  fc.assert(
    fc.property(line, ({ method, host, accessKey, resource, message, why, ...exchange }) => {
      const caller = accessKey === undefined ? { kind: 'anonymous' } : { kind: 'account', accessKey }
      const response = { status: exchange.status, message }
      const state = {
        operationName: 'unknown',
        dialect: { name: 's3' },
        resource,
        code: 'Odd',
        refusalReason: why,
        response,
        caller,
      }
      const request = { method, headers: host === undefined ? [] : [['Host', host]] }
      const made = lineOf(state, { ...exchange, requestId: '0123456789ABCDEF', request })
      const json = made.toJson(TIME)
      assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify({ time: TIME, ...made })))
      assert.doesNotMatch(json, /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/u)
      assert.deepEqual(
        [made.method, made.resource, made.message, made.why, made.caller, made.aborted, made.host],
        [method, resource, message, why, accessKey, exchange.aborted ? true : undefined, host || undefined],
      )
    }),
  )
})

test('a log line has its own fields after one that differs in any of them', () => {
  const state = {
    operationName: 'GetObject',
    dialect: { name: 's3' },
    resource: '/b/k',
    code: 'ok',
    caller: { kind: 'account', accessKey: 'one' },
    response: { status: 200 },
  }
  const exchange = { requestId: 'id', status: 200, remoteAddress: '::1', milliseconds: 1, aborted: false }
  const changes: [state: object, exchange: object][] = [
    [{ dialect: { name: 'svc' } }, {}],
    [{ resource: '/b/other' }, {}],
    [{ code: 'NoSuchKey' }, {}],
    [{ caller: { kind: 'anonymous' } }, {}],
    [{ caller: { kind: 'account', accessKey: 'two' } }, {}],
    [{ refusalReason: 'why' }, {}],
    [{ response: { status: 500 } }, {}],
    [{ response: { status: 200, message: 'text' } }, {}],
    [{}, { requestId: 'other' }],
    [{}, { status: 206 }],
    [{}, { remoteAddress: '::2' }],
    [{}, { milliseconds: 2 }],
    [{}, { aborted: true }],
    [{}, { request: { method: 'HEAD', headers: [] } }],
  ]
  for (const [changedState, changedExchange] of [...changes, ...changes]) {
    lineOf(state, exchange).toJson(TIME)
    const line = lineOf({ ...state, ...changedState }, { ...exchange, ...changedExchange })
    assert.deepEqual(JSON.parse(line.toJson(TIME)), JSON.parse(JSON.stringify({ time: TIME, ...line })))
  }
})

test('the log level follows the outcome of a request, even after an early 200', () => {
  const level = (ended: number, sent: number): string =>
    lineOf(
      { operationName: 'PutObject', dialect: { name: 's3' }, code: 'Odd', response: { status: ended } },
      { status: sent },
    ).level
  assert.deepEqual(
    [level(200, 200), level(404, 404), level(500, 500), level(501, 501)],
    ['info', 'info', 'warn', 'warn'],
  )
  assert.deepEqual([level(500, 200), level(412, 200)], ['warn', 'info'])
})

test('a fault without its own message has the message of its code', () => {
  const response = { status: 404 }
  const told = { operationName: 'Website', dialect: { name: 's3' }, code: 'NoSuchKey', response }
  assert.equal(lineOf(told, { status: 404 }).message, 'The specified key does not exist.')
})
