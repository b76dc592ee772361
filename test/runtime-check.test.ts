/** The check at start: it accepts a working runtime, and refuses one that completes aborted responses. */
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { checkTruncatedResponses, UnsafeRuntime } from '../src/server/runtime-check.ts'
import { TEST_CERTIFICATE } from './http/certificate.ts'

for (const [transport, certificate] of [
  ['plain', undefined],
  ['TLS', TEST_CERTIFICATE],
] as const) {
  test(`${transport}: truncated responses are detectable on this runtime`, async () => {
    assert.equal(await checkTruncatedResponses(certificate), true)
  })

  const ending = (response: ServerResponse): void => void response.end()
  const completing = (response: ServerResponse): void => void response.end(response.headersSent ? 'b' : '')
  for (const [title, cut] of [
    ['ends', ending],
    ['completes', completing],
  ] as const) {
    test(`${transport}: a runtime that ${title} a destroyed response is refused`, async () => {
      await assert.rejects(checkTruncatedResponses(certificate, cut), (error: Error) => {
        assert(error instanceof UnsafeRuntime)
        assert.match(error.message, /^(node|bun) [\d.]+ completes a response aborted before its headers/)
        return true
      })
    })
  }

  test(`${transport}: destroying a response does not abort it on Bun`, async () => {
    const verdict = checkTruncatedResponses(certificate, response => void response.destroy())
    // Once Bun no longer does that, breakOff may simply destroy the response.
    if (process.versions.bun === undefined) assert.equal(await verdict, true)
    else await assert.rejects(verdict, UnsafeRuntime)
  })
}
