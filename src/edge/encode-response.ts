/** From what an operation answers to what goes over the wire, in the reader's dialect. */
import { Buffer } from 'node:buffer'
import { renderXml, type XmlDocument } from '../lib/xml-writer.ts'
import type { Fault } from '../model/faults.ts'
import type { Header, Operation, OperationResponse } from '../operations/operation.ts'
import { type Dialect, wireName, wireValue } from './dialect.ts'
import { faultInDialect } from './faults-in-dialect.ts'

export interface WireResponse {
  readonly status: number
  readonly headers: [string, string][]
  readonly body: Buffer | AsyncIterable<Buffer> | undefined
  /** The connection ends with this answer: the rest of the request is not read. */
  readonly close: boolean
  /** Of a fault, for the log: an answer to HEAD carries none. */
  readonly message?: string
}

const isXml = (body: NonNullable<OperationResponse['body']>): body is XmlDocument => 'root' in body

/** A header is bytes, and Node takes a character for each: text beyond that would end the process, not the answer. */
const onWire = (value: string): string =>
  /[^\0-\xff]/.test(value) ? Buffer.from(value, 'utf8').toString('latin1') : value

export function wireHeaders(headers: readonly Header[], dialect: Dialect): [string, string][] {
  const out: [string, string][] = []
  for (const [name, value] of headers) {
    if (value === undefined) continue
    // What is not the dialect's own is called the same everywhere, and says the same.
    if (!name.startsWith(':')) out.push([name, typeof value === 'number' ? String(value) : onWire(value)])
    else out.push([wireName(dialect, name), onWire(wireValue(dialect, name, String(value)))])
  }
  return out
}

export function encodeResponse(answers: OperationResponse, dialect: Dialect): WireResponse {
  const headers = wireHeaders(answers.headers ?? [], dialect)
  const { body } = answers
  if (body === undefined) {
    const status = answers.status ?? 200
    // Said, or Node would send an empty body in chunks.
    if (status !== 204 && !headers.some(([name]) => name === 'content-length')) headers.push(['content-length', '0'])
    return { status, headers, body: undefined, close: false }
  }
  if (isXml(body)) {
    const bytes = renderXml(body, dialect.namespace)
    headers.push(['content-type', 'application/xml'], ['content-length', String(bytes.length)])
    return { status: answers.status ?? 200, headers, body: bytes, close: false }
  }
  const length = answers.length ?? (Buffer.isBuffer(body) ? body.length : undefined)
  if (length !== undefined) headers.push(['content-length', String(length)])
  return { status: answers.status ?? 200, headers, body, close: false }
}

export interface FaultLocation {
  readonly dialect: Dialect
  readonly resource: string
  readonly requestId: string
  readonly hostId: string
  readonly isHead: boolean
  /** What was asked for, once that is known. */
  readonly matchedOperation: Operation | undefined
}

/** R117. The error document. */
export function encodeFault(fault: Fault, place: FaultLocation): WireResponse {
  const { dialect } = place
  const headers = wireHeaders(fault.headers, dialect)
  const { deleteMarker, markerId, allow } = fault.detail
  if (deleteMarker === true) headers.push([wireName(dialect, ':delete-marker'), 'true'])
  if (markerId !== undefined) headers.push([wireName(dialect, ':version-id'), String(markerId)])
  if (fault.code === 'NotModified') return { status: 304, headers, body: undefined, close: false }
  if (fault.code === 'InvalidRange') headers.push(['content-range', `bytes */${fault.detail.ActualObjectSize ?? '*'}`])
  // An empty list says that nothing is allowed there.
  if (fault.code === 'MethodNotAllowed') headers.push(['allow', deleteMarker === true ? 'DELETE' : String(allow ?? '')])
  const told = faultInDialect(fault, dialect, place.matchedOperation)
  const body = renderXml({
    root: 'Error',
    write(to) {
      to.leaf('Code', told.code)
      to.leaf('Message', told.message)
      for (const [name, value] of told.details) to.leaf(name, value)
      to.leaf('Resource', place.resource)
      to.leaf('RequestId', place.requestId)
      to.leaf('HostId', place.hostId)
    },
  })
  headers.push(['content-type', 'application/xml'])
  if (!place.isHead) headers.push(['content-length', String(body.length)])
  const { status, message } = told
  return { status, headers, body: place.isHead ? undefined : body, close: fault.detail.close === true, message }
}
