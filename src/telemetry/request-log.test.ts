import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Outcome } from '../edge/outcome.ts'
import type { Exchange } from '../edge/recorder.ts'
import { RequestLine } from './request-log.ts'

/** Whatever a client may get into it: quotes, ends of lines, halves of characters. */
const text = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('"', '\\', '\n', '\u2028', '\ud800', '\x7f'),
)

test('a line of the log is the JSON of its fields, whatever a client put into them', () => {
  const line = fc.record({
    method: text,
    remoteAddress: text,
    resource: text,
    why: fc.option(text, { nil: undefined }),
    accessKey: fc.option(text, { nil: undefined }),
    milliseconds: fc.double({ min: 0, max: 1e9, noNaN: true }),
    status: fc.integer({ min: 100, max: 599 }),
    aborted: fc.boolean(),
  })
  fc.assert(
    fc.property(line, ({ method, accessKey, resource, why, ...exchange }) => {
      const caller = accessKey === undefined ? { kind: 'anonymous' } : { kind: 'account', accessKey }
      const told = { operation: 'GetObject', dialect: { name: 's3' }, resource, code: 'ok', why, caller }
      const about = { ...exchange, requestId: '0123456789ABCDEF', request: { method } }
      const made = new RequestLine(told as unknown as Outcome, about as unknown as Exchange)
      assert.equal(made.toText(), JSON.stringify({ ...made }))
      assert.deepEqual(
        [made.method, made.resource, made.why, made.caller, made.aborted],
        [method, resource, why, accessKey, exchange.aborted ? true : undefined],
      )
    }),
  )
})
