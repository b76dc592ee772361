/**
 * Where a body ends is said once and in one way. Whatever leaves a choice is refused: two servers in a row that choose
 * differently see different requests.
 */

import { Fault } from '../model/faults.ts'
import { headerValues, type RawRequest } from './raw-request.ts'

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
