import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTraceParent } from './trace-parent.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

test('a traceparent is parsed as the standard defines', () => {
  assert.deepEqual(readTraceParent(`00-${TRACE}-${SPAN}-01`), { traceId: TRACE, spanId: SPAN, isSampled: true })
  assert.equal(readTraceParent(`00-${TRACE}-${SPAN}-00`)?.isSampled, false)
  assert.equal(readTraceParent(` 00-${TRACE}-${SPAN}-03 `)?.isSampled, true)
  assert.equal(readTraceParent(`01-${TRACE}-${SPAN}-01-what-comes-later`)?.spanId, SPAN)
})

test('an invalid traceparent begins a new trace', () => {
  for (const bad of [
    '',
    'nonsense',
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `ff-${TRACE}-${SPAN}-01`,
    `00-${'0'.repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${'0'.repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE}-${SPAN}-1`,
  ]) {
    assert.equal(readTraceParent(bad), undefined, bad)
  }
})
