/** Parses the `traceparent` header of W3C Trace Context. */

interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined for an invalid value, in which case a new trace begins. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId, spanId, flags, more] = FORM.exec(text.trim()) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined
  // Only later versions may append further fields.
  if (version === '00' && more !== undefined) return undefined
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}
