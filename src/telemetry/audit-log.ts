/**
 * The audit log: a line with the reasons for every request that changes something or is refused. A line is passed to
 * the operating system before the response is sent, so it survives a crash of the process, though not a power failure.
 */

import type { ExchangeRecord } from '../edge/exchange.ts'
import type { AuditFinding, RequestState } from '../edge/request-state.ts'
import type { Clock } from '../lib/clock.ts'
import type { Caller } from '../model/caller.ts'
import { FAULTS, type FaultCode } from '../model/faults.ts'
import { describeReason } from '../rules/access/reasons.ts'
import type { Sample } from './families.ts'

export interface AuditSink {
  /** Writes the whole line or throws. */
  write(line: string): void
  /** How many findings of one request fit into a line. */
  readonly findingsMax: number
}

/** A request to the admin API. */
export interface AdminEvent {
  readonly requestId: string
  readonly method: string
  readonly route: string
  readonly path: string
  readonly caller: string | undefined
  /** The person behind a console session that began at an issuer of OpenID Connect. */
  readonly person?: { readonly issuer: string; readonly subject: string } | undefined
  readonly status: number
  readonly code: string
  /** Set for refusals. */
  readonly message?: string | undefined
  readonly remoteAddress: string | undefined
}

const REFUSED = 403

const isRead = (method: string): boolean => method === 'GET' || method === 'HEAD' || method === 'OPTIONS'

/** An early response has status 200 even when the request was refused; its code tells. */
const isRefused = (code: string, status: number): boolean =>
  status === REFUSED || FAULTS[code as FaultCode]?.[0] === REFUSED

function callerFields(caller: Caller | undefined): unknown {
  if (caller === undefined) return undefined
  if (caller.kind === 'anonymous') return { anonymous: true }
  const user = caller.kind === 'user' ? caller.user.name : undefined
  return { account: caller.account.accountId, user, accessKey: caller.accessKey }
}

function shown(finding: AuditFinding): unknown {
  if ('lock' in finding) return { decision: 'refused', lock: finding.lock, versionId: finding.versionId }
  const { action, on, decision } = finding
  return {
    action,
    resource: `/${on.bucket}${on.key === '' ? '' : `/${on.key}`}`,
    versionId: on.versionId,
    decision: decision.allowed ? 'allowed' : 'refused',
    because: decision.reasons.map(describeReason),
  }
}

const isRefusal = (finding: AuditFinding): boolean => 'lock' in finding || !finding.decision.allowed

export class AuditLog {
  readonly #sink: AuditSink
  readonly #clock: Clock
  readonly #onError: (error: unknown) => void
  #lines = 0
  #failures = 0
  #isFailing = false

  constructor(sink: AuditSink, clock: Clock, onError: (error: unknown) => void) {
    this.#sink = sink
    this.#clock = clock
    this.#onError = onError
  }

  decided(state: RequestState, exchange: ExchangeRecord): void {
    const { code, operationName, resource, refusalReason: why, auditFindings: findings } = state
    const refused = isRefused(code, exchange.status)
    if (!refused && isRead(state.operation?.match.method ?? 'GET')) return
    // When not all findings fit, refusals take precedence.
    const { findingsMax } = this.#sink
    const order =
      findings.length <= findingsMax ? findings : [...findings].sort((a, b) => +isRefusal(b) - +isRefusal(a))
    this.#write({
      requestId: exchange.requestId,
      who: callerFields(state.caller),
      action: operationName,
      dialect: state.dialect.name,
      resource,
      decision: refused ? 'refused' : findings.length === 0 ? 'not judged' : 'allowed',
      status: exchange.status,
      code,
      why,
      reasons: order.slice(0, findingsMax).map(shown),
      omitted: findings.length > findingsMax ? findings.length - findingsMax : undefined,
      sourceAddress: exchange.remoteAddress,
      secure: exchange.secure,
    })
  }

  recordAdminEvent(event: AdminEvent): void {
    const { method, route, path, caller, person, status, code, requestId, remoteAddress } = event
    const refused = isRefused(code, status)
    if (!refused && isRead(method)) return
    this.#write({
      requestId,
      who: !caller && person === undefined ? undefined : { accessKey: caller || undefined, ...person },
      action: `admin:${route === '' ? 'unknown' : route}`,
      resource: path,
      decision: refused ? 'refused' : 'allowed',
      status,
      code,
      sourceAddress: remoteAddress,
    })
  }

  #write(record: Readonly<Record<string, unknown>>): void {
    const time = new Date(this.#clock.now()).toISOString()
    try {
      this.#sink.write(`${JSON.stringify({ time, ...record })}\n`)
      this.#lines++
      this.#isFailing = false
    } catch (error) {
      this.#failures++
      // Reported once per outage, so that it does not flood the log.
      if (!this.#isFailing) this.#onError(error)
      this.#isFailing = true
    }
  }

  samples(): Sample[] {
    return [
      ['holdfast_audit_lines_total', '', this.#lines],
      ['holdfast_audit_failures_total', '', this.#failures],
    ]
  }
}
