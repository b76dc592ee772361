/** Metrics about requests, and that no client can create a series. */
import assert from 'node:assert/strict'
import { DIALECTS } from '../../src/edge/dialect.ts'
import { OPERATIONS } from '../../src/operations/index.ts'
import { RequestMetrics } from '../../src/telemetry/exchange-recorder.ts'
import { exposition, type Sample } from '../../src/telemetry/families.ts'
import { inBoth, makeBucket, OTHER, type Received, type Sending } from '../http/server.ts'
import { exchange, until } from '../http/wire.ts'
import { type Family, figure, readExposition } from './exposition.ts'

const fresh = (): RequestMetrics =>
  new RequestMetrics(
    OPERATIONS.map(({ name }) => name),
    Object.keys(DIALECTS),
  )

const read = (samples: readonly Sample[]): Map<string, Family> => readExposition(exposition(samples))

for (const measures of [fresh()]) {
  let before = 0
  inBoth(
    'requests are counted by operation, dialect, status and code, with their bytes and times',
    async client => {
      const { dialect } = client
      const bucket = await makeBucket(client)
      await client.send({ method: 'PUT', bucket, path: '/k', body: 'four' })
      const got: Received[] = []
      const get = async (what: Partial<Sending>): Promise<void> => {
        got.push(await client.send({ method: 'GET', bucket, path: '/k', ...what }))
      }
      await get({})
      await client.send({ method: 'HEAD', bucket, path: '/k' })
      await get({ headers: [['Range', 'bytes=1-2']] })
      await get({ path: '/none' })
      await get({ as: OTHER })
      await exchange(client.port, 'NONSENSE\r\n\r\n')
      before += 8
      assert(await until(() => figure(read(measures.samples()), 'holdfast_requests_total') === before))
      const families = read(measures.samples())
      const requests = (operation: string, status: string, code: string): number =>
        figure(families, 'holdfast_requests_total', { operation, dialect, status, code })
      assert.deepEqual(
        [
          requests('CreateBucket', '200', 'ok'),
          requests('PutObject', '200', 'ok'),
          requests('HeadObject', '200', 'ok'),
          requests('GetObject', '200', 'ok'),
          requests('GetObject', '206', 'ok'),
          requests('GetObject', '404', 'NoSuchKey'),
          requests('GetObject', '403', 'AccessDenied'),
        ],
        [1, 1, 1, 1, 1, 1, 1],
      )
      const put = { operation: 'PutObject', dialect }
      assert.equal(figure(families, 'holdfast_received_bytes_total', put), 4)
      assert.equal(figure(families, 'holdfast_sent_bytes_total', { operation: 'HeadObject', dialect }), 0)
      const taken = got.reduce((sum, { body }) => sum + body.length, 0)
      assert.equal(figure(families, 'holdfast_sent_bytes_total', { operation: 'GetObject', dialect }), taken)
      assert.equal(figure(families, 'holdfast_response_start_seconds_count', put), 1)
      assert(
        figure(families, 'holdfast_request_seconds_sum', put) >=
          figure(families, 'holdfast_response_start_seconds_sum', put),
      )
      assert.equal(figure(families, 'holdfast_requests_in_flight'), 0)
    },
    { sinks: { metrics: measures } },
  )
}

for (const measures of [fresh()]) {
  inBoth(
    'a running request counts as in flight, and client input never becomes a label',
    async client => {
      const bucket = await makeBucket(client)
      let isSeen = false
      const meanwhile = async (): Promise<void> => {
        isSeen = await until(() => figure(read(measures.samples()), 'holdfast_requests_in_flight') === 1)
      }
      await client.send({ method: 'PUT', bucket, path: '/invented-key', body: 'four', meanwhile })
      assert(isSeen)
      await client.send({
        method: 'BREW',
        bucket,
        path: '/?invented-query',
        headers: [[':invented', 'invented-value']],
      })
      await client.send({ method: 'GET', bucket: 'invented-bucket', path: '/?invented=1' })
      assert(await until(() => figure(read(measures.samples()), 'holdfast_requests_in_flight') === 0))
      assert.doesNotMatch(exposition(measures.samples()), /invented|BREW|test-bucket/)
    },
    { sinks: { metrics: measures } },
  )
}
