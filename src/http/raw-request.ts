import { Fault } from '../model/faults.ts'

/**
 * The values of headers as text, and back to the very bytes that were sent. On the wire a value is bytes, which Node
 * hands over and takes as a character each. What is UTF-8 becomes the text that it means. What is not keeps its bytes,
 * each as a character of a range that nobody else uses; text that has such characters already is kept as bytes, too.
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

/** A character for each byte. */
export const headerWire = (text: string): string =>
  BEYOND_ASCII.test(text) ? text.replace(EACH_BEYOND_ASCII, wireCharacter) : text

const isBlank = (text: string, at: number): boolean => text[at] === ' ' || text[at] === '\t'

/** Without white space at the ends. Space and tab only: a byte of a UTF-8 sequence may look like another kind of it. */
export function trimmed(wire: string): string {
  let [start, end] = [0, wire.length]
  while (start < end && isBlank(wire, start)) start++
  while (end > start && isBlank(wire, end - 1)) end--
  return wire.slice(start, end)
}

const NAME = /^[\w!#$%&'*+\-.^`|~]+$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\0-\x08\x0a-\x1f\x7f]/

/** Whether a header could be called so and say so: what stands for one elsewhere comes back as one. */
export const canBeHeader = (name: string, value: string): boolean => NAME.test(name) && !CONTROL.test(value)

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
  throw new Fault('BadRequest', { close: true, reason: 'The request does not say clearly where its body ends.' })
}

/** An empty one is none. The one that exists concerns senders of bodies; any other cannot be met, and is refused. */
export function checkExpectation(request: RawRequest): void {
  const expected = headerValues(request, 'expect')
  if (expected.every(value => ['', '100-continue'].includes(value.trim().toLowerCase()))) return
  throw new Fault('ExpectationFailed')
}

/**
 * A request as it came over the wire: nothing decoded, merged, sorted or normalised. Signatures and keys are made of
 * these bytes, so whoever needs a decoded form decodes once, from here.
 */
export interface RawRequest {
  readonly method: string
  /** Everything between the method and the version: path and query as sent. */
  readonly target: string
  /** Names and values in the order sent; values as latin1 text, a character for each byte. */
  readonly headers: readonly (readonly [string, string])[]
}

/** Node's parser also passes HTTP/0.9 and HTTP/2.0 on, whose rules nobody here follows. */
export const isSpokenVersion = (version: string): boolean => version === '1.1' || version === '1.0'

/** All values of a header, by its lower-case name. */
export function headerValues({ headers }: RawRequest, name: string): readonly string[] {
  let found: string[] | undefined
  // By index: taking pairs apart costs more than the comparison, and every request is asked for half a dozen names.
  for (let i = 0; i < headers.length; i++) {
    const pair = headers[i]!
    if (pair[0].length !== name.length || pair[0].toLowerCase() !== name) continue
    if (found === undefined) found = [pair[1]]
    else found.push(pair[1])
  }
  return found ?? NONE
}

const NONE: readonly string[] = []

/** The only value of a header; undefined when it was not sent. More than one is the caller's to refuse. */
export function headerValue(request: RawRequest, name: string): string | undefined {
  return headerValues(request, name)[0]
}

/** Path and query of the target, both as sent; no `?` gives an empty query. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const mark = target.indexOf('?')
  return mark < 0 ? { path: target, query: '' } : { path: target.slice(0, mark), query: target.slice(mark + 1) }
}
