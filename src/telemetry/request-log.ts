/** The lines that the log has for requests. */
import type { Outcome } from '../edge/outcome.ts'
import type { Exchange } from '../edge/recorder.ts'
import type { AdminAct } from './audit-log.ts'

const PLAIN = /^[ !#-[\]-~]*$/
const quoted = (text: string): string => (PLAIN.test(text) ? `"${text}"` : JSON.stringify(text))

/** The line of one request. What is undefined is not in it. */
export class RequestLine {
  readonly [field: string]: unknown
  readonly level = 'info'
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
  readonly why: string | undefined
  readonly caller: string | undefined

  constructor({ operation, dialect, resource, code, why, caller }: Outcome, exchange: Exchange) {
    this.requestId = exchange.requestId
    this.method = exchange.request.method
    this.status = exchange.status
    this.remoteAddress = exchange.remoteAddress
    this.milliseconds = Math.round(exchange.milliseconds * 10) / 10
    this.aborted = exchange.aborted ? true : undefined
    this.operation = operation
    this.dialect = dialect.name
    this.resource = resource
    this.code = code
    this.why = why
    this.caller = caller === undefined || caller.kind === 'anonymous' ? undefined : caller.accessKey
  }

  /** Itself as JSON, of which every request needs one: made piece by piece it costs a third. */
  toText(): string {
    const { requestId, status, milliseconds, operation, dialect, code, why, caller } = this
    return (
      `{"level":"info","requestId":"${requestId}","method":${quoted(this.method)},"status":${status},` +
      `"remoteAddress":${quoted(this.remoteAddress)},"milliseconds":${milliseconds},` +
      (this.aborted === undefined ? '' : '"aborted":true,') +
      `"operation":"${operation}","dialect":"${dialect}","resource":${quoted(this.resource)},"code":"${code}"` +
      (why === undefined ? '' : `,"why":${quoted(why)}`) +
      (caller === undefined ? '}' : `,"caller":${quoted(caller)}}`)
    )
  }
}

export const adminLine = ({ route, ...rest }: AdminAct): Readonly<Record<string, unknown>> => ({
  level: 'info',
  admin: route,
  ...rest,
})
