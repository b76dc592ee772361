/** Traces: what a collector receives, and that no request waits for it. */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { ManualClock } from '../../src/lib/clock.ts'
import { BadConfig, readConfig } from '../../src/server/config.ts'
import { RequestMetrics } from '../../src/telemetry/exchange-recorder.ts'
import { type Sampling, Tracer } from '../../src/telemetry/tracer.ts'
import { MAIN, makeBucket, type Served, withServer } from '../http/server.ts'
import { until } from '../http/wire.ts'
import { until as untilSo } from '../workers/program.ts'

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly { key: string; value: { stringValue?: string; intValue?: string } }[]
  readonly status: { readonly code?: number }
}

interface Collector {
  readonly url: string
  readonly spans: Span[]
  readonly requests: { readonly path: string; readonly headers: Readonly<Record<string, unknown>> }[]
  readonly texts: string[]
  /** The status of its responses; 0 never responds. */
  status: number
}

async function withCollector(use: (collector: Collector) => Promise<void>): Promise<void> {
  const collector: Collector = { url: '', spans: [], requests: [], texts: [], status: 200 }
  const server: Server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    collector.requests.push({ path: request.url ?? '', headers: request.headers })
    if (collector.status === 0) return
    if (collector.status === 200) {
      collector.texts.push(text)
      collector.spans.push(...JSON.parse(text).resourceSpans[0].scopeSpans[0].spans)
    }
    response.writeHead(collector.status).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(Object.assign(collector, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces` }))
  } finally {
    server.closeAllConnections()
    await new Promise(resolve => server.close(resolve))
  }
}

const ALL: Sampling = { byParent: true, ratio: 1 }

interface Traced extends Served {
  readonly tracer: Tracer
  readonly told: unknown[]
  readonly counts: () => number[]
  /** All requests are finished, and their sampled spans have been sent or dropped. */
  readonly settled: () => Promise<void>
}

async function withTraces(url: string, use: (traced: Traced) => Promise<void>, sampling = ALL): Promise<void> {
  const told: unknown[] = []
  const options = { url, headers: { 'x-collector-key': 'for the collector' }, serviceName: 'store', sampling }
  const tracer = new Tracer(options, new ManualClock(Date.UTC(2026, 0, 1)), error => told.push(error))
  const counts = (): number[] => tracer.samples().map(([, , value]) => value)
  const measures = new RequestMetrics([], ['svc', 's3'])
  const settled = async (): Promise<void> => {
    assert(await until(() => measures.samples()[0]![2] === 0))
    await tracer.stop()
  }
  await withServer(served => use({ ...served, tracer, told, counts, settled }), {
    sinks: { tracer, metrics: measures },
  })
}

const attribute = ({ attributes }: Span, name: string): string | undefined => {
  const value = attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}

test('every request has a span in the trace that its client names', () =>
  withCollector(collector =>
    withTraces(collector.url, async ({ s3, svc, counts, settled }) => {
      const bucket = await makeBucket(s3)
      const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
      const headers: [string, string][] = [['traceparent', traceparent]]
      const put = await s3.send({ method: 'PUT', bucket, path: '/secret-key', body: 'four', headers })
      await svc.send({ method: 'GET', bucket, path: '/none' })
      await svc.send({ method: 'GET', bucket, path: '/?replication' })
      await settled()
      const [created, stored, missing, failed] = collector.spans
      assert.deepEqual(
        collector.spans.map(({ name, kind }) => `${name} ${kind}`),
        ['CreateBucket 2', 'PutObject 2', 'GetObject 2', 'unknown 2'],
      )
      assert.equal(stored!.traceId, '0af7651916cd43dd8448eb211c80319c')
      assert.equal(stored!.parentSpanId, 'b7ad6b7169203331')
      assert.equal(stored!.spanId, put.own('request-id')!.toLowerCase())
      assert.match(created!.traceId, /^[0-9a-f]{32}$/)
      assert.equal(created!.parentSpanId, undefined)
      assert.deepEqual(
        ['holdfast.request_id', 'http.response.status_code', 'http.request.body.size', 'holdfast.bucket'].map(name =>
          attribute(stored!, name),
        ),
        [put.own('request-id'), '200', '4', bucket],
      )
      assert.deepEqual([attribute(missing!, 'error.type'), missing!.status.code], ['NoSuchKey', undefined])
      assert.deepEqual([attribute(failed!, 'http.response.status_code'), failed!.status.code], ['501', 2])
      const took = BigInt(stored!.endTimeUnixNano) - BigInt(stored!.startTimeUnixNano)
      assert(took > 0n && took < 60_000_000_000n)
      assert.equal(collector.requests[0]!.headers['x-collector-key'], 'for the collector')
      assert.equal(collector.requests[0]!.headers['content-type'], 'application/json')
      assert.match(collector.texts[0]!, /"service.name","value":\{"stringValue":"store"\}/)
      for (const secret of ['secret-key', MAIN.secretKey, 'Signature', 'for the collector']) {
        assert(!collector.texts.join('').includes(secret), secret)
      }
      assert.deepEqual(counts(), [4, 0])
    }),
  ))

test('sampling: the client decides for its trace, a share of the others is kept', () =>
  withCollector(async collector => {
    const sent = async (sampling: Sampling, flags: string): Promise<number> => {
      collector.spans.length = 0
      await withTraces(
        collector.url,
        async ({ s3, settled }) => {
          const headers: [string, string][] = [
            ['traceparent', `00-ffffffffffffffffffffffffffffffff-b7ad6b7169203331-${flags}`],
          ]
          await s3.send({ method: 'GET', path: '/', headers })
          await s3.send({ method: 'GET', path: '/' })
          await settled()
        },
        sampling,
      )
      return collector.spans.length
    }
    assert.equal(await sent({ byParent: true, ratio: 0 }, '01'), 1)
    assert.equal(await sent({ byParent: true, ratio: 0 }, '00'), 0)
    assert.equal(await sent({ byParent: false, ratio: 0 }, '01'), 0)
    assert.equal(await sent({ byParent: false, ratio: 1 }, '00'), 2)
  }))

test('a failing collector loses spans, not requests, and is logged once', () =>
  withCollector(async collector => {
    collector.status = 503
    await withTraces(collector.url, async ({ s3, told, counts, settled }) => {
      for (let round = 1; round <= 2; round++) {
        assert.equal((await s3.send({ method: 'GET', path: '/' })).status, 200)
        await settled()
      }
      assert.deepEqual(counts(), [0, 2])
      assert.equal(told.length, 1)
      assert.match(String(told[0]), /status 503/)
    })
  }))

test('a hanging collector delays no request, and the queue is bounded', () =>
  withCollector(async collector => {
    collector.status = 0
    await withTraces(collector.url, async ({ s3, tracer, counts }) => {
      await s3.send({ method: 'GET', path: '/' })
      // As many as could ever occur, without a request for each over HTTP.
      const exchange = {
        requestId: 'AAAAAAAAAAAAAAAA',
        hostId: Buffer.alloc(24, 1).toString('base64'),
        request: { method: 'GET', target: '/', headers: [] },
        status: 200,
        remoteAddress: '127.0.0.1',
        secure: false,
        milliseconds: 1,
        aborted: false,
        receivedBytes: 0,
        sentBytes: 0,
        totalMilliseconds: 1,
      }
      const outcome = { operationName: 'GetObject', dialect: { name: 's3' }, resource: '/b/k', code: 'ok' }
      for (let at = 0; at < 10_000; at++) tracer.ended(outcome as unknown as Parameters<Tracer['ended']>[0], exchange)
      assert(counts()[1]! > 5000, 'what is too much is dropped')
      assert.equal((await s3.send({ method: 'GET', path: '/' })).status, 200)
      await untilSo('the first batch has come, and no other', () => collector.requests.length === 1)
    })
  }))

test('OpenTelemetry variables apply, and invalid ones fail the start', () => {
  const read = (env: NodeJS.ProcessEnv) => readConfig([], env)?.tracing
  assert.equal(read({}), undefined)
  const OTEL_EXPORTER_OTLP_ENDPOINT = 'http://127.0.0.1:4318/'
  assert.deepEqual(read({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=b%20c, D=e' }), {
    url: 'http://127.0.0.1:4318/v1/traces',
    headers: { a: 'b c', d: 'e' },
    serviceName: 'holdfast',
    sampling: { byParent: true, ratio: 1 },
  })
  assert.equal(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://c.example/x' })?.url, 'https://c.example/x')
  assert.equal(read({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' }), undefined)
  const ratio = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.25' }
  assert.deepEqual(read({ OTEL_EXPORTER_OTLP_ENDPOINT, ...ratio })?.sampling, { byParent: true, ratio: 0.25 })
  for (const bad of [
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4317' },
    { OTEL_EXPORTER_OTLP_ENDPOINT: 'file:///etc/passwd' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'nonsense' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_HEADERS: 'a=%zz' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER: '__proto__' },
    { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: 'half' },
  ]) {
    assert.throws(() => read(bad), BadConfig, JSON.stringify(bad))
  }
})
