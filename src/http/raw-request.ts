import { Fault } from '../model/faults.ts'

/**
 * Header values as text, and back to the bytes that were sent. Node represents a value as one character per byte. Valid
 * UTF-8 is decoded. Anything else keeps its bytes, each mapped to a private-use character; text that already contains
 * such characters is kept as bytes, too.
 */
const BYTES_FROM = 0xf700
const BEYOND_ASCII = /[^\0-\x7f]/
const EACH_BEYOND_ASCII = /[^\0-\x7f]/gu
const HIGH_BYTES = /[\x80-\xff]/g
const AMBIGUOUS = /[\ufffd\uf780-\uf7ff]/

export function headerText(wire: string): string {
  if (!BEYOND_ASCII.test(wire)) return wire
  const text = Buffer.from(wire, 'latin1').toString('utf8')
  if (!AMBIGUOUS.test(text)) return text
  return wire.replace(HIGH_BYTES, byte => String.fromCharCode(BYTES_FROM + byte.charCodeAt(0)))
}

function wireCharacter(character: string): string {
  const byte = character.charCodeAt(0) - BYTES_FROM
  if (byte >= 0x80 && byte <= 0xff) return String.fromCharCode(byte)
  return Buffer.from(character, 'utf8').toString('latin1')
}

/** One character per byte, as Node writes it. */
export const headerWire = (text: string): string =>
  BEYOND_ASCII.test(text) ? text.replace(EACH_BEYOND_ASCII, wireCharacter) : text

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'

/** Trims space and tab only: a byte of a UTF-8 sequence may look like other white space. */
export function trimmed(wire: string): string {
  let [start, end] = [0, wire.length]
  while (start < end && isBlank(wire, start)) start++
  while (end > start && isBlank(wire, end - 1)) end--
  return wire.slice(start, end)
}

const NAME = /^[\w!#$%&'*+\-.^`|~]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it matches
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

export const isHeaderName = (text: string): boolean => NAME.test(text)

/** True if the pair is a valid header: query parameters and form fields can stand in for headers. */
export const canBeHeader = (name: string, value: string): boolean => isHeaderName(name) && !CONTROL.test(value)

const HEADERS_MAX = 2_000

export function checkFraming(request: RawRequest): void {
  if (request.headers.length > HEADERS_MAX) throw new Fault('RequestHeaderSectionTooLarge', { close: true })
  const lengths = headerValues(request, 'content-length')
  const encodings = headerValues(request, 'transfer-encoding')
  const isClear =
    encodings.length === 0
      ? lengths.length <= 1
      : lengths.length === 0 && encodings.length === 1 && encodings[0]!.trim().toLowerCase() === 'chunked'
  if (isClear) return
  throw new Fault('BadRequest', { close: true, reason: 'The length of the request body is ambiguous.' })
}

/** An empty `Expect` counts as absent. `100-continue` is the only expectation defined; any other is refused. */
export function checkExpectation(request: RawRequest): void {
  const expected = headerValues(request, 'expect')
  if (expected.every(value => ['', '100-continue'].includes(value.trim().toLowerCase()))) return
  throw new Fault('ExpectationFailed')
}

/**
 * A request as it came over the wire: nothing decoded, merged, sorted or normalised. Signatures and keys depend on
 * these bytes, so every decoded form is derived once, from here.
 */
export interface RawRequest {
  readonly method: string
  /** Path and query as sent. */
  readonly target: string
  /** Names and values in the order sent; values as latin1 text, one character per byte. */
  readonly headers: readonly (readonly [string, string])[]
  /** Requests with the same bytes may be this very object. */
  readonly isShared?: boolean
}

/** Node's parser also accepts HTTP/0.9 and HTTP/2.0, which this server does not implement. */
export const isSpokenVersion = (version: string): boolean => version === '1.1' || version === '1.0'

/** All values of a header, by its lower-case name. */
export function headerValues({ headers }: RawRequest, name: string): readonly string[] {
  let found: string[] | undefined
  // An indexed loop: destructuring costs more than the comparison, and every request looks up half a dozen names.
  for (let i = 0; i < headers.length; i++) {
    const pair = headers[i]!
    if (pair[0].length !== name.length || pair[0].toLowerCase() !== name) continue
    if (found === undefined) found = [pair[1]]
    else found.push(pair[1])
  }
  return found ?? NONE
}

const NONE: readonly string[] = []

/** The first value of a header, or undefined. Callers that forbid repetition check for it. */
export function headerValue(request: RawRequest, name: string): string | undefined {
  return headerValues(request, name)[0]
}

/** Path and query of the target, as sent; without `?` the query is empty. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const mark = target.indexOf('?')
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}
