/**
 * Composite keys in byte order: a one-byte kind, then components. A text component ends with a zero byte and must not
 * contain one, so that no escaping is needed and a longer text sorts after its prefix.
 */
import { Buffer } from 'node:buffer'

type Component = Uint8Array | string | number

/** Eight bytes, big-endian; exact for every safe integer. */
export function uint64(value: number): Buffer {
  const out = Buffer.allocUnsafe(8)
  out.writeUInt32BE(Math.floor(value / 2 ** 32), 0)
  out.writeUInt32BE(value >>> 0, 4)
  return out
}

/** Eight bytes in descending order: the greatest number sorts first. */
export function descending(value: number): Buffer {
  const out = uint64(value)
  for (let i = 0; i < 8; i++) out[i] = out[i]! ^ 0xff
  return out
}

export function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32BE(at) * 2 ** 32 + bytes.readUInt32BE(at + 4)
}

export function readDescending(bytes: Buffer, at: number): number {
  return (~bytes.readUInt32BE(at) >>> 0) * 2 ** 32 + (~bytes.readUInt32BE(at + 4) >>> 0)
}

/** Texts in keys are short and mostly ASCII: a loop beats a call into the runtime. */
function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0x7f) return false
  return true
}

/** Writes a text and its terminating zero byte; returns the position of the latter. */
function writeText(out: Buffer, text: string, at: number): number {
  let end = at
  for (; end < at + text.length; end++) {
    const code = text.charCodeAt(end - at)
    if (code === 0 || code > 0x7f) {
      if (text.includes('\0')) throw new Error('a text component of a key must not contain a zero byte')
      end = at + out.write(text, at, 'utf8')
      break
    }
    out[end] = code
  }
  out[end] = 0
  return end
}

function sizeOf(component: Component): number {
  if (typeof component === 'string') return (isAscii(component) ? component.length : Buffer.byteLength(component)) + 1
  return typeof component === 'number' ? 8 : component.length
}

/**
 * `kind`, then texts (zero-terminated), numbers (eight bytes) and raw bytes (unterminated, so only at the end or of
 * fixed length).
 */
export function key(kind: string, ...components: readonly Component[]): Buffer {
  let length = 1
  for (const c of components) length += sizeOf(c)
  const out = Buffer.allocUnsafe(length)
  out[0] = kind.charCodeAt(0)
  let at = 1
  for (const c of components) {
    if (typeof c === 'string') {
      at = writeText(out, c, at) + 1
    } else if (typeof c === 'number') {
      out.set(uint64(c), at)
      at += 8
    } else {
      out.set(c, at)
      at += c.length
    }
  }
  return out
}
