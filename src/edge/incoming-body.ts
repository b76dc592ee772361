import { checkedBody } from '../auth/payload.ts'
import type { PayloadRule } from '../auth/payload-rule.ts'
import { EMPTY_SHA256 } from '../auth/signing.ts'
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

function mayDiffer(payload: PayloadRule, length: number | undefined, view: View): boolean {
  if (payload.kind !== 'sha256') return payload.kind === 'chunks'
  return payload.hex !== EMPTY_SHA256 || (length ?? 0) > 0 || view.header('transfer-encoding') !== undefined
}

export function incomingBody(
  { body, place }: { readonly body: AsyncIterable<Buffer>; readonly place: Place },
  payload: PayloadRule,
  view: View,
  dialect: Dialect,
): IncomingBody {
  const declared = view.header(':trailer')
  const length = announcedLength(payload, view)
  return {
    stream: checkedBody(body, payload),
    length,
    hold: bytes => place.hold(bytes),
    hashSigned: payload.kind === 'sha256',
    mayDiffer: mayDiffer(payload, length, view),
    announced:
      declared === undefined ? [] : declared.split(',').map(name => neutral(dialect, name.trim().toLowerCase())),
    trailers() {
      if (payload.kind !== 'chunks') return new Map()
      return new Map([...payload.trailers].map(([name, value]) => [neutral(dialect, name), value]))
    },
  }
}
