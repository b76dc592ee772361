/** Log lines of requests. */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { RequestState } from '../edge/request-state.ts'
import { headerValues } from '../http/raw-request.ts'
import { printable } from '../lib/printable.ts'
import { FAULTS, type FaultCode } from '../model/faults.ts'
import type { AdminEvent } from './audit-log.ts'

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
    const { requestId, status, milliseconds, operation, dialect, code, message, why, host, caller } = this
    return (
      `{"time":"${time}","level":"${this.level}","requestId":"${requestId}","method":${quoted(this.method)},` +
      `"status":${status},"remoteAddress":${quoted(this.remoteAddress)},"milliseconds":${milliseconds},` +
      (this.aborted === undefined ? '' : '"aborted":true,') +
      `"operation":"${operation}","dialect":"${dialect}","resource":${quoted(this.resource)},"code":"${code}"` +
      (message === undefined ? '' : `,"message":${quoted(message)}`) +
      (why === undefined ? '' : `,"why":${quoted(why)}`) +
      (host === undefined ? '' : `,"host":${quoted(host)}`) +
      (caller === undefined ? '}' : `,"caller":${quoted(caller)}}`)
    )
  }
}

export const adminLine = ({ route, ...rest }: AdminEvent): Readonly<Record<string, unknown>> => ({
  level: levelOf(rest.status),
  admin: route,
  ...rest,
})
