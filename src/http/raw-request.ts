import { Fault } from '../model/faults.ts'

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
