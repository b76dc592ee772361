/**
 * The head of a request as clients send it. Knows only what it is sure of; whatever else arrives is for the runtime's
 * parser.
 */
import { memoizeLast } from '../lib/memoize-last.ts'
import { type RawRequest, trimmed } from './raw-request.ts'

/** Half of what the runtime's parser takes. */
export const HEAD_BYTES_MAX = 8 * 1024

const READS = ['GET', 'HEAD']
const WITH_BODY = ['PUT', 'POST']
const METHODS = [...WITH_BODY, 'DELETE', ...READS]
const HEAD_END = Buffer.from('\r\n\r\n')
const VERSION = ' HTTP/1.1\r\n'
const TARGET = /^\/[!-~]*$/
const LENGTH = /^\d{1,15}$/
const FIELDS = /^(?:[\w!#$%&'*+\-.^`|~]+:[\t -~\x80-\xff]*\r\n)+\r\n$/

export interface PlainHead {
  readonly request: RawRequest
  /** The client asked for its connection to be closed after the response. */
  readonly isLast: boolean
}

interface Fields {
  readonly pairs: readonly (readonly [string, string])[]
  readonly isLast: boolean
  /** Undefined where no length was sent. */
  readonly bodyBytes: number | undefined
}

/** They change how the rest of a request is sent, or how it must be answered. */
const UNKNOWN = new Set(['transfer-encoding', 'expect', 'upgrade', 'proxy-connection'])

function parseFields(text: string): Fields | undefined {
  if (!FIELDS.test(text)) return undefined
  const pairs: [string, string][] = []
  let isLast = false
  let bodyBytes: number | undefined
  for (const line of text.split('\r\n')) {
    if (line === '') break
    const colon = line.indexOf(':')
    const [name, value] = [line.slice(0, colon), trimmed(line.slice(colon + 1))]
    pairs.push([name, value])
    const lower = name.toLowerCase()
    if (UNKNOWN.has(lower)) return undefined
    if (lower === 'content-length') {
      if (bodyBytes !== undefined || !LENGTH.test(value)) return undefined
      bodyBytes = Number(value)
    }
    if (lower !== 'connection') continue
    const wish = value.toLowerCase()
    if (isLast || (wish !== 'close' && wish !== 'keep-alive')) return undefined
    isLast = wish === 'close'
  }
  return { pairs, isLast, bodyBytes }
}

/** A client repeats all fields but the signature, and with a presigned URL all of them. */
const fieldsOf = memoizeLast(parseFields)

/** Undefined for anything but the whole head of a GET or HEAD. */
export function parsePlainHead(bytes: Buffer, isShared = false): PlainHead | undefined {
  return bytes.length > HEAD_BYTES_MAX ? undefined : parseRead(bytes.toString('latin1'), isShared)
}

/** Of a head that a `HeadScanner` has accepted: it knows less than the parser. */
export function headersOf(bytes: Buffer): RawRequest['headers'] {
  const head = parseRead(bytes.toString('latin1'), false)
  if (head === undefined) throw new Error('a scanned head cannot be parsed')
  return head.request.headers
}

function parseRead(text: string, isShared: boolean): PlainHead | undefined {
  const head = parseHead(text, READS)
  if (head === undefined || head.fields.bodyBytes !== undefined) return undefined
  const { method, target, fields } = head
  return { request: { method, target, headers: fields.pairs, isShared }, isLast: fields.isLast }
}

interface Head {
  readonly method: string
  readonly target: string
  readonly fields: Fields
}

function parseHead(text: string, methods: readonly string[]): Head | undefined {
  const method = methods.find(name => text.startsWith(`${name} /`))
  if (method === undefined) return undefined
  const start = method.length + 1
  const end = text.indexOf(' ', start)
  if (!text.startsWith(VERSION, end)) return undefined
  const target = text.slice(start, end)
  const fields = TARGET.test(target) ? fieldsOf(text.slice(end + VERSION.length)) : undefined
  return fields && { method, target, fields }
}

/** A request that has arrived, with its body or the start of it. */
interface ArrivedRequest extends PlainHead {
  /** As much of it as is there, as a view of the bytes. */
  readonly body: Buffer
  readonly missingBytes: number
}

/** Undefined without a whole head, for a body without a length, and where further bytes follow. */
export function parseArrived(bytes: Buffer): ArrivedRequest | undefined {
  const end = bytes.subarray(0, HEAD_BYTES_MAX).indexOf(HEAD_END)
  if (end < 0) return undefined
  const bodyStart = end + HEAD_END.length
  const head = parseHead(bytes.toString('latin1', 0, bodyStart), METHODS)
  if (head === undefined) return undefined
  const { method, target, fields } = head
  if (WITH_BODY.includes(method) !== (fields.bodyBytes !== undefined)) return undefined
  const missingBytes = (fields.bodyBytes ?? 0) - (bytes.length - bodyStart)
  if (missingBytes < 0) return undefined
  const request = { method, target, headers: fields.pairs }
  return { request, isLast: fields.isLast, body: bytes.subarray(bodyStart), missingBytes }
}
