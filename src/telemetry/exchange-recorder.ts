/**
 * Records every request: its line in the log and its counts in the metrics, both written for speed, and the recorder
 * that passes requests to these and to the audit log, the tracer and the access log.
 */
import type { ExchangeRecord } from '../edge/exchange.ts'
import type { Recorder } from '../edge/recorder.ts'
import type { RequestState } from '../edge/request-state.ts'
import { headerValues } from '../http/raw-request.ts'
import { BucketCounts } from '../lib/bucket-counts.ts'
import { printable } from '../lib/printable.ts'
import { FAULTS, type FaultCode } from '../model/faults.ts'
import type { AccessLog } from './access-log.ts'
import type { AdminEvent, AuditLog } from './audit-log.ts'
import { histogramSamples, labelled, type Sample } from './families.ts'
import type { Tracer } from './tracer.ts'

const PLAIN = /^[ !#-[\]-~]*$/
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : printable(JSON.stringify(text)))

/** Uses the status of the outcome: an early response was sent as a 200 whatever the outcome. */
const levelOf = (status: number): 'info' | 'warn' => (status >= 500 ? 'warn' : 'info')

/** The error message that the client received. */
function messageOf({ response: { status, message }, code }: RequestState): string | undefined {
  if (message !== undefined || status < 400) return message
  return FAULTS[code as FaultCode]?.[1]
}

/** The Host header of a request that matched no operation, since a wrong Host is a common cause. */
function hostOf({ operationName, response }: RequestState, { request }: ExchangeRecord): string | undefined {
  if (operationName !== 'unknown' || response.status < 400) return undefined
  return headerValues(request, 'host').join(', ') || undefined
}

/** The log line of one request. Undefined fields are omitted. */
export class RequestLine {
  readonly [field: string]: unknown
  readonly level: 'info' | 'warn'
  readonly requestId: string
  readonly method: string
  readonly status: number
  readonly remoteAddress: string
  readonly milliseconds: number
  readonly aborted: true | undefined
  readonly operation: string
  readonly dialect: string
  readonly resource: string
  readonly code: string
  readonly message: string | undefined
  readonly why: string | undefined
  readonly host: string | undefined
  readonly caller: string | undefined

  constructor(state: RequestState, exchange: ExchangeRecord) {
    const { operationName, dialect, resource, code, refusalReason: why, caller, response } = state
    this.level = levelOf(response.status)
    this.requestId = exchange.requestId
    this.method = exchange.request.method
    this.status = exchange.status
    this.remoteAddress = exchange.remoteAddress
    this.milliseconds = Math.round(exchange.milliseconds * 10) / 10
    this.aborted = exchange.aborted ? true : undefined
    this.operation = operationName
    this.dialect = dialect.name
    this.resource = resource
    this.code = code
    this.message = messageOf(state)
    this.why = why
    this.host = hostOf(state, exchange)
    this.caller = caller === undefined || caller.kind === 'anonymous' ? undefined : caller.accessKey
  }

  /** Formats the line by hand, since every request needs one and JSON.stringify costs three times as much. */
  toJson(time: string): string {
    const { fromTime, fromId, fromMilliseconds, fromResource } = partsOf(this)
    const { requestId, milliseconds, resource } = this
    const first = `{"time":"${time}${fromTime}${requestId}${fromId}${milliseconds}${fromMilliseconds}`
    return `${first}${quoted(resource)}${fromResource}`
  }
}

/** The text between the fields that differ from line to line. */
interface LineParts {
  readonly line: RequestLine
  readonly fromTime: string
  readonly fromId: string
  readonly fromMilliseconds: string
  readonly fromResource: string
}

/** The parts of the last line of each operation: a client sends many requests of a kind. */
const lastParts = new Map<string, LineParts>()

function partsOf(line: RequestLine): LineParts {
  const last = lastParts.get(line.operation)
  if (last !== undefined && isAlike(line, last.line)) return last
  const parts = renderParts(line)
  lastParts.set(line.operation, parts)
  return parts
}

function isAlike(one: RequestLine, other: RequestLine): boolean {
  return (
    one.status === other.status &&
    one.method === other.method &&
    one.remoteAddress === other.remoteAddress &&
    one.caller === other.caller &&
    one.dialect === other.dialect &&
    one.code === other.code &&
    one.level === other.level &&
    one.aborted === other.aborted &&
    one.message === other.message &&
    one.why === other.why &&
    one.host === other.host
  )
}

function renderParts(line: RequestLine): LineParts {
  const { message, why, host, caller } = line
  const optional = (name: string, text: string | undefined): string =>
    text === undefined ? '' : `,"${name}":${quoted(text)}`
  return {
    line,
    fromTime: `","level":"${line.level}","requestId":"`,
    fromId:
      `","method":${quoted(line.method)},"status":${line.status},` +
      `"remoteAddress":${quoted(line.remoteAddress)},"milliseconds":`,
    fromMilliseconds:
      `${line.aborted === undefined ? '' : ',"aborted":true'},"operation":"${line.operation}",` +
      `"dialect":"${line.dialect}","resource":`,
    fromResource:
      `,"code":"${line.code}"${optional('message', message)}${optional('why', why)}` +
      `${optional('host', host)}${optional('caller', caller)}}`,
  }
}

export const adminLine = ({ route, ...rest }: AdminEvent): Readonly<Record<string, unknown>> => ({
  level: levelOf(rest.status),
  admin: route,
  ...rest,
})

/** Upper bounds in seconds, followed by +Inf. */
const BOUNDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

class OperationMetrics {
  readonly responseStart = new BucketCounts(BOUNDS)
  readonly request = new BucketCounts(BOUNDS)
  /** Requests by code and status. */
  readonly codes = new Map<string, Map<number, number>>()
  received = 0
  sent = 0

  count(code: string, status: number): void {
    let byStatus = this.codes.get(code)
    if (byStatus === undefined) {
      byStatus = new Map()
      this.codes.set(code, byStatus)
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1)
  }

  samples(labels: { readonly operation: string; readonly dialect: string }): Sample[] {
    const out: Sample[] = []
    for (const [code, byStatus] of this.codes) {
      for (const [status, count] of byStatus) {
        const shown = labelled({ ...labels, status: String(status), code })
        out.push(['holdfast_requests_total', shown, count])
      }
    }
    const shown = labelled(labels)
    return [
      ...out,
      ...histogramSamples('holdfast_response_start_seconds', labels, this.responseStart),
      ...histogramSamples('holdfast_request_seconds', labels, this.request),
      ['holdfast_received_bytes_total', shown, this.received],
      ['holdfast_sent_bytes_total', shown, this.sent],
    ]
  }
}

/** Request kinds that are not in the operation list. */
const OTHERS = ['Preflight', 'Website'] as const
const UNKNOWN = 'unknown'

/** A few additions per request, without allocations. */
export class RequestMetrics {
  /** By dialect, then by operation. All names are fixed in advance, so that clients cannot create series. */
  readonly #byDialect = new Map<string, Map<string, OperationMetrics>>()
  #inFlight = 0

  constructor(operations: readonly string[], dialects: readonly string[]) {
    const names = [...operations, ...OTHERS, UNKNOWN]
    for (const dialect of dialects) {
      this.#byDialect.set(dialect, new Map(names.map(name => [name, new OperationMetrics()])))
    }
  }

  begun(): void {
    this.#inFlight++
  }

  left(): void {
    this.#inFlight--
  }

  ended({ operationName, dialect, code }: RequestState, exchange: ExchangeRecord): void {
    const byName = this.#byDialect.get(dialect.name)!
    const counted = byName.get(operationName) ?? byName.get(UNKNOWN)!
    counted.count(code, exchange.status)
    counted.responseStart.observe(exchange.milliseconds / 1000)
    counted.request.observe(exchange.totalMilliseconds / 1000)
    counted.received += exchange.receivedBytes
    counted.sent += exchange.sentBytes
  }

  samples(): Sample[] {
    const out: Sample[] = [['holdfast_requests_in_flight', '', this.#inFlight]]
    for (const [dialect, byName] of this.#byDialect) {
      for (const [operation, counted] of byName) {
        if (counted.codes.size > 0) out.push(...counted.samples({ operation, dialect }))
      }
    }
    return out
  }
}

export interface RecorderSinks {
  readonly logger: { log(line: Readonly<Record<string, unknown>>): void }
  readonly metrics?: RequestMetrics
  readonly audit?: AuditLog | undefined
  readonly tracer?: Tracer | undefined
  readonly accessLog?: AccessLog | undefined
}

/** Passes finished requests to the log, the metrics, the audit log, the tracer and the access log. */
export class ExchangeRecorder implements Recorder {
  readonly #sinks: RecorderSinks

  constructor(sinks: RecorderSinks) {
    this.#sinks = sinks
  }

  begun(): void {
    this.#sinks.metrics?.begun()
  }

  decided(state: RequestState, exchange: ExchangeRecord): void {
    const { logger, audit } = this.#sinks
    logger.log(new RequestLine(state, exchange))
    audit?.decided(state, exchange)
  }

  ended(state: RequestState, exchange: ExchangeRecord): void {
    const { metrics, tracer, accessLog } = this.#sinks
    metrics?.ended(state, exchange)
    tracer?.ended(state, exchange)
    // The document that turns on access logs.
    if (state.bucket?.documents.includes('logging')) accessLog?.add(state.bucket, state, exchange)
  }

  left(): void {
    this.#sinks.metrics?.left()
  }
}
