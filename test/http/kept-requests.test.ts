/** Parts of requests are kept in memory before their signatures are verified; anyone can send them. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { REPORTS_WRITTEN_BYTES } from '../../src/lib/runtime.ts'
import { keptBytes } from '../../src/lib/suite-memory.ts'
import { BASE_HOST, withServer } from './server.ts'
import { exchange } from './wire.ts'

const MIB = 2 ** 20
const ON_V8 = { skip: !REPORTS_WRITTEN_BYTES && 'the heap of another engine is not measured' }

const digits = (characters: number): string => randomBytes(characters / 2).toString('hex')
const longList = (characters: number): string => digits(characters).replace(/(...)./g, '$1;')

const SCOPE = 'nobody/20261119/us-east-1/s3/aws4_request'
const HEADER =
  'x-amz-date: 20261119T000000Z\r\n' +
  'x-amz-content-sha256: UNSIGNED-PAYLOAD\r\n' +
  `authorization: AWS4-HMAC-SHA256 Credential=${SCOPE}`
const QUERY =
  'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20261119T000000Z&X-Amz-Expires=100' +
  `&X-Amz-Credential=${encodeURIComponent(SCOPE)}`
const NO_SIGNATURE = '0'.repeat(64)

type Form = readonly [rounds: number, sent: () => readonly [query: string, lines: string]]

const FORMS: Readonly<Record<string, Form>> = {
  'lists of signed headers': [200, () => ['', `${HEADER},SignedHeaders=${longList(15_000)},Signature=${NO_SIGNATURE}`]],
  'lists of signed headers in queries': [
    300,
    () => [
      `${QUERY}&X-Amz-SignedHeaders=${encodeURIComponent(longList(5_000))}&X-Amz-Signature=${NO_SIGNATURE}`,
      'x-padding: 0',
    ],
  ],
  'names of headers': [400, () => ['', `x-amz-${digits(15_000)}: 0`]],
}

for (const [form, [rounds, sent]] of Object.entries(FORMS)) {
  test(`long ${form} do not fill the memory`, ON_V8, () =>
    withServer(async ({ s3 }) => {
      const send = async (): Promise<void> => {
        const [query, lines] = sent()
        const answer = await exchange(
          s3.port,
          `GET /bucket/key?${query} HTTP/1.1\r\nhost: ${BASE_HOST}\r\n${lines}\r\n\r\n`,
        )
        assert.ok(answer !== undefined && answer.status >= 400, `status ${answer?.status}`)
      }
      for (let warm = 0; warm < 10; warm++) await send()
      const kept = await keptBytes(async () => {
        for (let round = 0; round < rounds; round++) await send()
      })
      assert.ok(kept < 4 * MIB, `${kept} bytes`)
    }),
  )
}
