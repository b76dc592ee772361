import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parsePlainHead } from '../http/plain-head.ts'
import { REPORTS_WRITTEN_BYTES } from '../lib/runtime.ts'
import { keptBytes } from '../lib/suite-memory.ts'
import { nameSent } from './dialect.ts'

const ON_V8 = { skip: !REPORTS_WRITTEN_BYTES && 'another engine shares the memory of texts in its own way' }

test('the names of headers are cached without the heads that they came in', ON_V8, async () => {
  const padding = 'x'.repeat(7_000)
  const kept = await keptBytes(() => {
    for (let at = 0; at < 1_000; at++) {
      const head = `GET / HTTP/1.1\r\nx-padding: ${padding}\r\nX-Amz-Meta-Number-${at}: 0\r\n\r\n`
      for (const [name] of parsePlainHead(Buffer.from(head))!.request.headers) nameSent(name)
    }
  })
  assert.equal(nameSent('X-Amz-Meta-Number-999').s3, ':meta-number-999')
  assert.ok(kept < 2_000_000, `${kept} bytes`)
})
