/** The lines that the log has for requests. */
import type { Outcome } from '../edge/outcome.ts'
import type { Exchange } from '../edge/recorder.ts'
import type { AdminAct } from './audit-log.ts'

export function logLine(outcome: Outcome, exchange: Exchange): Readonly<Record<string, unknown>> {
  const { caller } = outcome
  return {
    level: 'info',
    requestId: exchange.requestId,
    method: exchange.request.method,
    status: exchange.status,
    remoteAddress: exchange.remoteAddress,
    milliseconds: Math.round(exchange.milliseconds * 10) / 10,
    aborted: exchange.aborted ? true : undefined,
    operation: outcome.operation,
    dialect: outcome.dialect.name,
    resource: outcome.resource,
    code: outcome.code,
    why: outcome.why,
    caller: caller === undefined || caller.kind === 'anonymous' ? undefined : caller.accessKey,
  }
}

export const adminLine = ({ route, ...rest }: AdminAct): Readonly<Record<string, unknown>> => ({
  level: 'info',
  admin: route,
  ...rest,
})
