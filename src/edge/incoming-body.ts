import { checkedBody } from '../auth/payload.ts'
import type { PayloadRule } from '../auth/payload-rule.ts'
import type { IncomingBody } from '../operations/context.ts'
import type { Dialect } from './dialect.ts'
import type { View } from './request-view.ts'
import type { Place } from './room.ts'

/** The neutral name of a trailer or header of the dialect. */
const neutral = (dialect: Dialect, name: string): string =>
  name.startsWith(dialect.prefix) ? `:${name.slice(dialect.prefix.length)}` : name

/** Bytes that the client announced: the decoded length of chunks, else the length of the body itself. */
function announcedLength(payload: PayloadRule, view: View): number | undefined {
  if (payload.kind === 'chunks') return payload.decodedLength
  return view.byteCount('content-length')
}

export function incomingBody(
  { body, place }: { readonly body: AsyncIterable<Buffer>; readonly place: Place },
  payload: PayloadRule,
  view: View,
  dialect: Dialect,
): IncomingBody {
  const declared = view.header(':trailer')
  return {
    stream: checkedBody(body, payload),
    length: announcedLength(payload, view),
    hold: bytes => place.hold(bytes),
    hashSigned: payload.kind === 'sha256',
    announced:
      declared === undefined ? [] : declared.split(',').map(name => neutral(dialect, name.trim().toLowerCase())),
    trailers() {
      if (payload.kind !== 'chunks') return new Map()
      return new Map([...payload.trailers].map(([name, value]) => [neutral(dialect, name), value]))
    },
  }
}
