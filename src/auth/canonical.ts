/**
 * The canonical form of a request: the text that both sides hash, so that a signature covers method, path, query and
 * the signed headers. Everything is taken from the bytes as sent; text is latin1 throughout, a character for each byte.
 */
import type { RawRequest } from '../http/raw-request.ts'

/** Headers by lower-case name; values of one name joined by commas in the order sent. */
export type HeaderFields = ReadonlyMap<string, string>

export interface QueryPair {
  /** Both percent-encoded in the canonical way. */
  readonly name: string
  readonly value: string
}

// Space and tab only: a byte of a UTF-8 sequence may look like another kind of white space in latin1.
const RUN = /[ \t]+/g

const isTidy = (value: string): boolean =>
  !value.includes('  ') && !value.includes('\t') && !value.startsWith(' ') && !value.endsWith(' ')

/** Without white space at the ends, and single spaces inside. */
function tidy(value: string): string {
  if (isTidy(value)) return value
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
    fields.set(name, before === undefined ? tidy(value) : `${before},${tidy(value)}`)
  }
  return fields
}

const UNRESERVED = /^[A-Za-z0-9\-._~]*$/
const ESCAPED_OR_RESERVED = /%([0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~]/g

const hexByte = (byte: number): string => `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`

/** Decoded once and encoded again. A plus is a plus; a percent sign that begins no escape is itself. */
function encodeAgain(text: string): string {
  if (UNRESERVED.test(text)) return text
  return text.replace(ESCAPED_OR_RESERVED, (found, hex: string | undefined) => {
    const byte = hex === undefined ? found.charCodeAt(0) : Number.parseInt(hex, 16)
    const character = String.fromCharCode(byte)
    return UNRESERVED.test(character) ? character : hexByte(byte)
  })
}

/** Undoes `encodeAgain`. */
export function decodeCanonical(text: string): string {
  return text.replace(/%([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

const BARE = /[^A-Za-z0-9\-._~/%]/g

/** A path whose bytes are escaped where they must be; escapes that are there stay as they are. */
export const escapedPath = (path: string): string => path.replace(BARE, found => hexByte(found.charCodeAt(0)))

/** Sorted by encoded name, then by encoded value. */
export function canonicalPairs(query: string): QueryPair[] {
  if (query === '') return []
  const pairs: QueryPair[] = []
  for (const piece of query.split('&')) {
    if (piece === '') continue
    const equals = piece.indexOf('=')
    pairs.push({
      name: encodeAgain(equals < 0 ? piece : piece.slice(0, equals)),
      value: equals < 0 ? '' : encodeAgain(piece.slice(equals + 1)),
    })
  }
  const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
  if (pairs.length > 1) pairs.sort((a, b) => order(a.name, b.name) || order(a.value, b.value))
  return pairs
}

/** The headers that a signature covers. */
export interface SignedHeaders {
  /** In lower case, and in order. */
  readonly names: readonly string[]
  readonly set: ReadonlySet<string>
  /** As they stand in the signed text. */
  readonly text: string
}

/** Of a list with semicolons. */
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
  /** Every one of them is in `fields`. */
  readonly signedHeaders: SignedHeaders
  /** What the client says of the body: its hash, or why there is none. */
  readonly contentHash: string
}

/** `unsignedPair` is the one query name that the signature cannot cover: its own. */
export function canonicalRequest(from: Canonical, unsignedPair: string | undefined): string {
  let query = ''
  for (const { name, value } of from.pairs) {
    if (name !== unsignedPair) query += query === '' ? `${name}=${value}` : `&${name}=${value}`
  }
  let headers = ''
  for (const name of from.signedHeaders.names) headers += `${name}:${from.fields.get(name)}\n`
  return `${from.method}\n${from.path}\n${query}\n${headers}\n${from.signedHeaders.text}\n${from.contentHash}`
}
