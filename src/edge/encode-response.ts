/** Encodes an operation's response, or a fault, for the wire in the request's dialect. */

import { Buffer } from 'node:buffer'
import { renderXml, type XmlDocument } from '../lib/xml-writer.ts'
import type { Fault } from '../model/faults.ts'
import type { Header } from '../operations/context.ts'
import type { OperationResponse } from '../operations/operation.ts'
import { type Dialect, wireName, wireValue } from './dialect.ts'
import type { Exchange, WireResponse } from './exchange.ts'
import { faultInDialect } from './faults-in-dialect.ts'
import type { RequestState } from './request-state.ts'

const isXml = (body: NonNullable<OperationResponse['body']>): body is XmlDocument => 'root' in body

/** Node expects one character per byte in a header; any other text would throw and end the process. */
const onWire = (value: string): string =>
  /[^\0-\xff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value

export function wireHeaders(headers: readonly Header[], dialect: Dialect): [string, string][] {
  const out: [string, string][] = []
  for (const [name, value] of headers) {
    if (value === undefined) continue
    // Plain headers have the same name and value in every dialect.
    if (!name.startsWith(':')) out.push([name, typeof value === 'number' ? String(value) : onWire(value)])
    else out.push([wireName(dialect, name), onWire(wireValue(dialect, name, String(value)))])
  }
  return out
}

function encodeBody(from: OperationResponse, dialect: Dialect): WireResponse {
  const headers = wireHeaders(from.headers ?? [], dialect)
  const { body } = from
  if (body === undefined) {
    const status = from.status ?? 200
    // Otherwise Node would send an empty chunked body.
    if (status !== 204 && !headers.some(([name]) => name === 'content-length')) headers.push(['content-length', '0'])
    return { status, headers, body: undefined, close: false }
  }
  if (isXml(body)) {
    const bytes = renderXml(body, dialect.namespace)
    headers.push(['content-type', 'application/xml'], ['content-length', String(bytes.length)])
    return { status: from.status ?? 200, headers, body: bytes, close: false }
  }
  const length = from.length ?? (Buffer.isBuffer(body) ? body.length : undefined)
  if (length !== undefined) headers.push(['content-length', String(length)])
  return { status: from.status ?? 200, headers, body, close: false }
}

export const withHeaders = (response: OperationResponse, more: readonly Header[]): OperationResponse =>
  more.length === 0 ? response : { ...response, headers: [...(response.headers ?? []), ...more] }

/** D28. */
export function regionHeader({ bucketRegion, dialect }: RequestState): [string, string][] {
  if (bucketRegion === undefined || !dialect.behavior.regionOnAnswers) return []
  return [[wireName(dialect, ':bucket-region'), bucketRegion]]
}

/** Encodes a success, with the headers that every response to the request carries. */
export function encodeResponse(response: OperationResponse, state: RequestState): WireResponse {
  const encoded = encodeBody(withHeaders(response, state.cors), state.dialect)
  if (state.bucketRegion !== undefined) encoded.headers.push(...regionHeader(state))
  return encoded
}

/** R117. The error document. */
export function encodeFault(
  fault: Fault,
  { requestId, hostId, request }: Pick<Exchange, 'requestId' | 'hostId' | 'request'>,
  { dialect, resource, operation }: Pick<RequestState, 'dialect' | 'resource' | 'operation'>,
): WireResponse {
  const isHead = request.method === 'HEAD'
  const headers = wireHeaders(fault.headers, dialect)
  const { deleteMarker, markerId, allow } = fault.detail
  if (deleteMarker === true) headers.push([wireName(dialect, ':delete-marker'), 'true'])
  if (markerId !== undefined) headers.push([wireName(dialect, ':version-id'), String(markerId)])
  if (fault.code === 'NotModified') return { status: 304, headers, body: undefined, close: false }
  if (fault.code === 'InvalidRange') headers.push(['content-range', `bytes */${fault.detail.ActualObjectSize ?? '*'}`])
  // An empty `Allow` means that no method is allowed.
  if (fault.code === 'MethodNotAllowed') headers.push(['allow', deleteMarker === true ? 'DELETE' : String(allow ?? '')])
  const { code, status, message, details } = faultInDialect(fault, dialect, operation)
  const body = renderXml({
    root: 'Error',
    write(to) {
      to.leaf('Code', code)
      to.leaf('Message', message)
      for (const [name, value] of details) to.leaf(name, value)
      to.leaf('Resource', resource)
      to.leaf('RequestId', requestId)
      to.leaf('HostId', hostId)
    },
  })
  headers.push(['content-type', 'application/xml'])
  if (!isHead) headers.push(['content-length', String(body.length)])
  return { status, headers, body: isHead ? undefined : body, close: fault.detail.close === true, message }
}
