/** Responses to bytes that could not be parsed as a request, with the document, ids and log line of any response. */
import { STATUS_CODES } from 'node:http'
import type { RawRequest } from '../http/raw-request.ts'
import { Fault } from '../model/faults.ts'
import { DIALECTS, wireName } from './dialect.ts'
import type { ExchangeIds } from './request-ids.ts'
import { encodeFault } from './wire-form.ts'

/** Stands in for a request that could not be parsed. */
export const NO_REQUEST: RawRequest = { method: '', target: '', headers: [] }

const NOT_HTTP = 'The request is not well-formed HTTP.'

/** Maps an error code of the HTTP parser to a fault. */
export function faultOfParser(code: string | undefined): Fault {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Fault('RequestHeaderSectionTooLarge')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Fault('RequestTimeout')
    case 'HPE_INVALID_EOF_STATE':
      return new Fault('IncompleteBody')
    default:
      return new Fault('BadRequest', { reason: NOT_HTTP })
  }
}

/** A whole response as bytes. The client's dialect is unknown, so its ids are sent in both. */
export function rawResponse(fault: Fault, ids: ExchangeIds, now: number): Buffer {
  const state = { dialect: DIALECTS.svc, resource: '/', operation: undefined }
  const { status, headers, body } = encodeFault(fault, { ...ids, request: NO_REQUEST }, state)
  const idHeaders = Object.values(DIALECTS).flatMap(one => [
    [wireName(one, ':request-id'), ids.requestId],
    [wireName(one, ':id-2'), ids.hostId],
  ])
  const lines = [...headers, ...idHeaders, ['date', new Date(now).toUTCString()], ['connection', 'close']]
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${head}\r\n`, 'latin1'),
    body as Buffer,
  ])
}
