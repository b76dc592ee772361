/** Answers to what never became a request: the same document, ids and log line as everything else gets. */
import { STATUS_CODES } from 'node:http'
import { Fault } from '../model/faults.ts'
import { DIALECTS, wireName } from './dialect.ts'
import { encodeFault } from './encode-response.ts'

export interface AnswerIds {
  readonly requestId: string
  readonly hostId: string
}

const NOT_HTTP = 'The request is not well-formed HTTP.'

/** What is wrong with a connection's bytes, from the code of the parser's complaint. */
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

/** A whole answer as bytes. Nobody knows which dialect the client speaks, so its ids go out in each. */
export function rawAnswer(fault: Fault, ids: AnswerIds, now: number): Buffer {
  const dialect = DIALECTS.svc
  const place = { ...ids, dialect, resource: '/', isHead: false, matchedOperation: undefined }
  const { status, headers, body } = encodeFault(fault, place)
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
