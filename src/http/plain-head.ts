/**
 * The head of a request without a body, as clients send it: all of it in one piece and nothing after it. Knows only
 * what it is sure of; whatever else arrives is for the runtime's parser.
 */
import { memoizeLast } from '../lib/memoize-last.ts'
import { ParseCache } from '../lib/parse-cache.ts'
import { RecentMarks } from '../lib/recent-marks.ts'
import { type RawRequest, trimmed } from './raw-request.ts'

/** Half of what the runtime's parser takes. */
const HEAD_BYTES_MAX = 8 * 1024

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

/** Undefined for anything but the whole head of a GET or HEAD. Equal heads of presigned URLs share their request. */
export function parsePlainHead(bytes: Buffer): PlainHead | undefined {
  if (bytes.length > HEAD_BYTES_MAX) return undefined
  const text = bytes.toString('latin1')
  const at = text.indexOf(SIGNATURE_PARAMETER)
  if (at < 0 || recentSignatures.isNew(markAt(text, at + SIGNATURE_PARAMETER.length))) return parseHead(text)
  const head = presignedHeads.get(text)
  return head === NOT_PLAIN ? undefined : head
}

/** Of a head that a `HeadScanner` has accepted: it knows less than the parser. */
export function headersOf(bytes: Buffer): RawRequest['headers'] {
  const head = parseHead(bytes.toString('latin1'))
  if (head === undefined) throw new Error('a scanned head cannot be parsed')
  return head.request.headers
}

/** Clients use a presigned URL again, with the same headers; a signature in a header is for one request. */
const SIGNATURE_PARAMETER = '-Signature='
const NOT_PLAIN = Symbol('not plain')
/** With what is derived from them, heads take some twenty times this many bytes. */
const HEADS_CHARACTERS_MAX = 2 ** 19
const presignedHeads = new ParseCache((text): PlainHead | typeof NOT_PLAIN => {
  const head = parseHead(text)
  return head === undefined ? NOT_PLAIN : { ...head, request: { ...head.request, isShared: true } }
}, HEADS_CHARACTERS_MAX)

/** A URL that is used for the first time is not kept: many are used once. */
const recentSignatures = new RecentMarks(4096)

const markAt = (text: string, at: number): number => Number.parseInt(text.slice(at, at + 8), 16) >>> 0

function parseHead(text: string): PlainHead | undefined {
  const method = text.startsWith('GET /') ? 'GET' : text.startsWith('HEAD /') ? 'HEAD' : undefined
  if (method === undefined) return undefined
  const start = method.length + 1
  const end = text.indexOf(' ', start)
  if (!text.startsWith(VERSION, end)) return undefined
  const target = text.slice(start, end)
  const fields = TARGET.test(target) ? fieldsOf(text.slice(end + VERSION.length)) : undefined
  return fields && { request: { method, target, headers: fields.pairs }, isLast: fields.isLast }
}
