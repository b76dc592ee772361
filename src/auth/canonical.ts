/**
 * The canonical form of a request, which client and server hash, so that a signature covers method, path, query and the
 * signed headers. It is built from the bytes as sent; text is latin1 throughout, one character per byte.
 */
import type { RawRequest } from '../http/raw-request.ts'

/** Headers by lower-case name; values of one name joined by commas in the order sent. */
export type HeaderFields = ReadonlyMap<string, string>

export interface QueryPair {
  /** Both percent-encoded in the canonical way. */
  readonly name: string
  readonly value: string
}

// Space and tab only: in latin1 a byte of a UTF-8 sequence may look like other white space.
const RUN = /[ \t]+/g

const isCollapsed = (value: string): boolean =>
  !value.includes('  ') && !value.includes('\t') && !value.startsWith(' ') && !value.endsWith(' ')

/** Trims the ends and collapses white space to single spaces. */
function collapseSpaces(value: string): string {
  if (isCollapsed(value)) return value
  const collapsed = value.replace(RUN, ' ')
  const start = collapsed.startsWith(' ') ? 1 : 0
  const end = collapsed.length > start && collapsed.endsWith(' ') ? collapsed.length - 1 : collapsed.length
  return collapsed.slice(start, end)
}

export function canonicalFields(request: RawRequest): HeaderFields {
  const fields = new Map<string, string>()
  for (const [sent, value] of request.headers) {
    const name = sent.toLowerCase()
    const before = fields.get(name)
    fields.set(name, before === undefined ? collapseSpaces(value) : `${before},${collapseSpaces(value)}`)
  }
  return fields
}

const UNRESERVED = /^[A-Za-z0-9\-._~]*$/
const ESCAPED_OR_RESERVED = /%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~]/g

const hexByte = (byte: number): string => `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`

/** Decodes once and encodes canonically. A plus stays a plus; a percent sign that starts no escape is literal. */
function reencode(text: string): string {
  if (UNRESERVED.test(text)) return text
  return text.replace(ESCAPED_OR_RESERVED, (found, hex: string | undefined) => {
    const byte = hex === undefined ? found.charCodeAt(0) : Number.parseInt(hex, 16)
    const character = String.fromCharCode(byte)
    return UNRESERVED.test(character) ? character : hexByte(byte)
  })
}

/** Undoes `reencode`. */
export function decodeCanonical(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const BARE = /[^A-Za-z0-9\-._~/%]/g

/** Percent-encodes the bytes of a path that need it; existing escapes are kept. */
export const escapedPath = (path: string): string => path.replace(BARE, found => hexByte(found.charCodeAt(0)))

/** Sorted by encoded name, then by encoded value. */
export function canonicalPairs(query: string): QueryPair[] {
  if (query === '') return []
  const pairs: QueryPair[] = []
  for (const piece of query.split('&')) {
    if (piece === '') continue
    const equals = piece.indexOf('=')
    pairs.push({
      name: reencode(equals < 0 ? piece : piece.slice(0, equals)),
      value: equals < 0 ? '' : reencode(piece.slice(equals + 1)),
    })
  }
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  if (pairs.length > 1) pairs.sort((a, b) => order(a.name, b.name) || order(a.value, b.value))
  return pairs
}

/** The headers that a signature covers. */
export interface SignedHeaders {
  /** Lower case, sorted. */
  readonly names: readonly string[]
  readonly set: ReadonlySet<string>
  /** The list as it appears in the signed text. */
  readonly text: string
}

/** Parses a semicolon-separated list. */
export function signedHeadersIn(list: string): SignedHeaders {
  const names = list.split(';').sort()
  return { names, set: new Set(names), text: names.join(';') }
}

export interface Canonical {
  readonly method: string
  /** Never empty. */
  readonly path: string
  readonly pairs: readonly QueryPair[]
  readonly fields: HeaderFields
  /** All of them are present in `fields`. */
  readonly signedHeaders: SignedHeaders
  /** The content hash header: the hash of the body, or a word such as UNSIGNED-PAYLOAD. */
  readonly contentHash: string
}

/** `unsignedPair` is the query name of the signature itself, which it cannot cover. */
export function canonicalRequest(from: Canonical, unsignedPair: string | undefined): string {
  let query = ''
  for (const { name, value } of from.pairs) {
    if (name !== unsignedPair) query += query === '' ? `${name}=${value}` : `&${name}=${value}`
  }
  let headers = ''
  for (const name of from.signedHeaders.names) headers += `${name}:${from.fields.get(name)}\n`
  return `${from.method}\n${from.path}\n${query}\n${headers}\n${from.signedHeaders.text}\n${from.contentHash}`
}
