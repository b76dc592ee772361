/** Lock requests that several tests make. */
import assert from 'node:assert/strict'
import { document, type Headers } from './actions.ts'
import type { Client, Received } from './server.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const BYPASS: Headers = [[':bypass-governance-retention', 'true']]
export const LOCKED: Headers = [[':bucket-object-lock-enabled', 'true']]

export const iso = (time: number): string => new Date(time).toISOString()

export async function ok(answer: Promise<Received>): Promise<Received> {
  const received = await answer
  assert(received.status < 300, `${received.status} ${received.body}`)
  return received
}

export function hold(client: Client, bucket: string, path: string, status: 'ON' | 'OFF'): Promise<Received> {
  const native: Headers = client.dialect === 'svc' ? [[':legal-hold', status]] : []
  const sent = document(`<LegalHold><Status>${status}</Status></LegalHold>`, native)
  return client.send({ method: 'PUT', bucket, path: `${path}${path.includes('?') ? '&' : '?'}legal-hold`, ...sent })
}

export function retain(
  client: Client,
  bucket: string,
  path: string,
  mode: string,
  until: number,
  headers: Headers = [],
) {
  const body = `<Retention><Mode>${mode}</Mode><RetainUntilDate>${iso(until)}</RetainUntilDate></Retention>`
  const at = `${path}${path.includes('?') ? '&' : '?'}retention`
  return client.send({ method: 'PUT', bucket, path: at, ...document(body, headers) })
}

export const remove = (client: Client, bucket: string, path: string, headers: Headers = []): Promise<Received> =>
  client.send({ method: 'DELETE', bucket, path, headers })
