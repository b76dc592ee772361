/** Byte strings compare as memcmp does, which is the order of all keys in the store. */
export const EMPTY: Buffer = Buffer.alloc(0)

/** A range of a larger buffer. A subarray would do, but costs more to create than to read. */
export interface ByteSpan {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

export const copyOf = ({ bytes, start, end }: ByteSpan): Buffer => Buffer.from(bytes.subarray(start, end))

/** In memory of its own: a small copy by `Buffer.from` is cut from a larger buffer, all of which it would retain. */
export function ownCopy(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

export const textOf = ({ bytes, start, end }: ByteSpan): string => bytes.toString('utf8', start, end)

/** The smallest byte string greater than every string with this prefix; undefined when there is none. */
export function prefixSuccessor(prefix: Uint8Array): Buffer | undefined {
  let end = prefix.length
  while (end > 0 && prefix[end - 1] === 0xff) end--
  if (end === 0) return undefined
  const out = Buffer.from(prefix.subarray(0, end))
  out[end - 1] = out[end - 1]! + 1
  return out
}

/** The smallest byte string greater than `bytes`. */
export function keySuccessor(bytes: Uint8Array): Buffer {
  const out = Buffer.alloc(bytes.length + 1)
  out.set(bytes)
  return out
}

/** Compares texts by their UTF-8 bytes; lone surrogates, which UTF-8 lacks, are not supported. */
export function compareAsUtf8(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const one = a.charCodeAt(i)
    const other = b.charCodeAt(i)
    if (one !== other) return rank(one) - rank(other)
  }
  return a.length - b.length
}

/** Surrogate pairs sort last in UTF-8, but not by their UTF-16 units. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false
  return true
}
