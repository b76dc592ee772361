/**
 * The head of a request without a body, as clients send it: all of it in one piece and nothing after it. Knows only
 * what it is sure of; whatever else arrives is for the runtime's parser.
 */
import { memoizeLast } from '../lib/memoize-last.ts'
import { type RawRequest, trimmed } from './raw-request.ts'

/** Half of what the runtime's parser takes. */
export const HEAD_BYTES_MAX = 8 * 1024

const VERSION = ' HTTP/1.1\r\n'
const TARGET = /^\/[!-~]*$/
const FIELDS = /^(?:[\w!#$%&'*+\-.^`|~]+:[\t -~\x80-\xff]*\r\n)+\r\n$/

export interface PlainHead {
  readonly request: RawRequest
  /** The client asked for its connection to be closed after the response. */
  readonly isLast: boolean
}

interface Fields {
  readonly pairs: readonly (readonly [string, string])[]
  readonly isLast: boolean
}

function parseFields(text: string): Fields | undefined {
  if (!FIELDS.test(text)) return undefined
  const pairs: [string, string][] = []
  let isLast = false
  for (const line of text.split('\r\n')) {
    if (line === '') break
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, colon), trimmed(line.slice(colon + 1))]
    pairs.push([name, value])
    const lower = name.toLowerCase()
    // Either says that there is more to the request than its head.
    if (lower === 'content-length' || lower === 'transfer-encoding') return undefined
    if (lower !== 'connection') continue
    const wish = value.toLowerCase()
    if (isLast || (wish !== 'close' && wish !== 'keep-alive')) return undefined
    isLast = wish === 'close'
  }
  return { pairs, isLast }
}

/** A client repeats all fields but the signature, and with a presigned URL all of them. */
const fieldsOf = memoizeLast(parseFields)

/** Undefined for anything but the whole head of a GET or HEAD. */
export function parsePlainHead(bytes: Buffer, isShared = false): PlainHead | undefined {
  return bytes.length > HEAD_BYTES_MAX ? undefined : parseHead(bytes.toString('latin1'), isShared)
}

/** Of a head that a `HeadScanner` has accepted: it knows less than the parser. */
export function headersOf(bytes: Buffer): RawRequest['headers'] {
  const head = parseHead(bytes.toString('latin1'), false)
  if (head === undefined) throw new Error('a scanned head cannot be parsed')
  return head.request.headers
}

function parseHead(text: string, isShared: boolean): PlainHead | undefined {
  const method = text.startsWith('GET /') ? 'GET' : text.startsWith('HEAD /') ? 'HEAD' : undefined
  if (method === undefined) return undefined
  const start = method.length + 1
  const end = text.indexOf(' ', start)
  if (!text.startsWith(VERSION, end)) return undefined
  const target = text.slice(start, end)
  const fields = TARGET.test(target) ? fieldsOf(text.slice(end + VERSION.length)) : undefined
  return fields && { request: { method, target, headers: fields.pairs, isShared }, isLast: fields.isLast }
}
