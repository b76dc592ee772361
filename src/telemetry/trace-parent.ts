/** Whose work a request is part of, as its client says it (W3C Trace Context). */

export interface TraceParent {
  /** 32 hexadecimal digits. */
  readonly traceId: string
  /** 16 hexadecimal digits. */
  readonly spanId: string
  readonly isSampled: boolean
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** Undefined for what is none: a trace then begins here. */
export function readTraceParent(text: string): TraceParent | undefined {
  const [, version, traceId, spanId, flags, more] = FORM.exec(text.trim()) ?? []
  if (version === undefined || version === 'ff' || /^0+$/.test(traceId!) || /^0+$/.test(spanId!)) return undefined
  // Later versions may say more behind it; this one has nothing there.
  if (version === '00' && more !== undefined) return undefined
  return { traceId: traceId!, spanId: spanId!, isSampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}
