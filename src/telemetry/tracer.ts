/**
 * Sends spans of requests to an OpenTelemetry collector (OTLP over HTTP, as JSON). It never delays a request: spans
 * that exceed the queue or that the collector does not accept in time are dropped and counted.
 */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { headerValues } from '../http/raw-request.ts'
import type { Clock } from '../lib/clock.ts'
import { labelled, type Sample } from './families.ts'
import { readTraceParent } from './trace-parent.ts'

export interface Sampling {
  /** Follow the client's sampling decision. */
  readonly byParent: boolean
  /** Fraction of other traces that are sampled, from 0 to 1. */
  readonly ratio: number
}

export interface TracerOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly serviceName: string
  readonly sampling: Sampling
}

const QUEUED_MAX = 4096
const BATCH_MAX = 512
const FLUSH_MS = 2_000
const SEND_MS_MAX = 10_000

type Value = { readonly stringValue: string } | { readonly intValue: string }
type Attribute = { readonly key: string; readonly value: Value }

const text = (key: string, value: string): Attribute => ({ key, value: { stringValue: value } })
const count = (key: string, value: number): Attribute => ({ key, value: { intValue: String(value) } })

/** Enum values of OTLP. */
const KIND_SERVER = 2
const STATUS_ERROR = 2

interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: readonly Attribute[]
  readonly status: { readonly code?: number; readonly message?: string }
}

const nanoseconds = (ms: number): string => String(BigInt(Math.round(ms * 1000)) * 1000n)

/** Decides by the lowest digits of the trace id, as other samplers do, so that equal ratios sample the same traces. */
function isKept(traceId: string, ratio: number): boolean {
  return Number.parseInt(traceId.slice(-13), 16) / 2 ** 52 < ratio
}

export class Tracer {
  readonly #options: TracerOptions
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #queue: Span[] = []
  #cancel: (() => void) | undefined
  #sending: Promise<void> | undefined
  #sent = 0
  #dropped = 0
  #isFailing = false

  constructor(options: TracerOptions, clock: Clock, onError: (error: unknown) => void) {
    this.#options = options
    this.#clock = clock
    this.#onError = onError
  }

  ended(state: RequestState, exchange: ExchangeRecord): void {
    const { sampling } = this.#options
    const [sent, ...others] = headerValues(exchange.request, 'traceparent')
    const parent = sent === undefined || others.length > 0 ? undefined : readTraceParent(sent)
    // Both ids are random. The span id is the request id, so that log lines and spans can be correlated.
    const traceId = parent?.traceId ?? Buffer.from(exchange.hostId, 'base64').subarray(0, 16).toString('hex')
    const kept = parent !== undefined && sampling.byParent ? parent.isSampled : isKept(traceId, sampling.ratio)
    if (!kept) return
    if (this.#queue.length >= QUEUED_MAX) {
      this.#dropped++
      return
    }
    const end = this.#clock.now()
    const isError = exchange.status >= 500
    this.#queue.push({
      traceId,
      spanId: exchange.requestId.toLowerCase(),
      ...(parent === undefined ? {} : { parentSpanId: parent.spanId }),
      name: state.operationName,
      kind: KIND_SERVER,
      startTimeUnixNano: nanoseconds(end - exchange.totalMilliseconds),
      endTimeUnixNano: nanoseconds(end),
      attributes: attributesOf(state, exchange),
      status: isError ? { code: STATUS_ERROR, message: state.code } : {},
    })
    if (this.#queue.length >= BATCH_MAX) this.#flush()
    else this.#cancel ??= this.#clock.after(FLUSH_MS, () => this.#flush())
  }

  /** Sends one batch at a time; while the collector is slow the queue grows up to its bound. */
  #flush(): void {
    this.#cancel?.()
    this.#cancel = undefined
    if (this.#sending !== undefined || this.#queue.length === 0) return
    const batch = this.#queue.slice(0, BATCH_MAX)
    this.#queue = this.#queue.slice(BATCH_MAX)
    this.#sending = this.#send(batch).finally(() => {
      this.#sending = undefined
      if (this.#queue.length >= BATCH_MAX) this.#flush()
      else if (this.#queue.length > 0) this.#cancel ??= this.#clock.after(FLUSH_MS, () => this.#flush())
    })
  }

  async #send(spans: readonly Span[]): Promise<void> {
    const { url, headers, serviceName } = this.#options
    const resource = { attributes: [text('service.name', serviceName)] }
    const body = JSON.stringify({ resourceSpans: [{ resource, scopeSpans: [{ scope: { name: 'holdfast' }, spans }] }] })
    try {
      const response = await fetch(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(SEND_MS_MAX),
      })
      await response.arrayBuffer()
      if (!response.ok) throw new Error(`the collector responded with status ${response.status}`)
      this.#sent += spans.length
      this.#isFailing = false
    } catch (error) {
      this.#dropped += spans.length
      // Reported once per outage; the metric counts the rest.
      if (!this.#isFailing) this.#onError(error)
      this.#isFailing = true
    }
  }

  samples(): Sample[] {
    return [
      ['holdfast_spans_total', labelled({ result: 'sent' }), this.#sent],
      ['holdfast_spans_total', labelled({ result: 'dropped' }), this.#dropped],
    ]
  }

  /** Sends the remaining spans unless the collector fails. */
  async stop(): Promise<void> {
    do {
      await this.#sending
      this.#flush()
      await this.#sending
    } while (this.#queue.length > 0 && !this.#isFailing)
    this.#cancel?.()
    this.#cancel = undefined
  }
}

/** Uses the semantic conventions where they apply. Object keys are left out, since they may be confidential. */
function attributesOf(state: RequestState, exchange: ExchangeRecord): Attribute[] {
  const [, bucket = ''] = state.resource.split('/')
  return [
    text('http.request.method', exchange.request.method),
    count('http.response.status_code', exchange.status),
    count('http.request.body.size', exchange.receivedBytes),
    count('http.response.body.size', exchange.sentBytes),
    text('url.scheme', exchange.secure ? 'https' : 'http'),
    text('client.address', exchange.remoteAddress),
    text('holdfast.request_id', exchange.requestId),
    text('holdfast.dialect', state.dialect.name),
    text('holdfast.code', state.code),
    ...(bucket === '' ? [] : [text('holdfast.bucket', bucket)]),
    ...(exchange.status < 400 ? [] : [text('error.type', state.code)]),
  ]
}
