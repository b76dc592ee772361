/** Parameters in PostgreSQL's binary formats: as text, each byte would take two hex digits. */
const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT4 = 23

/** Dimensions, flags and type; then length and lower bound of the only dimension. */
const EMPTY_HEADER_BYTES = 12
const HEADER_BYTES = 20
const LENGTH_BYTES = 4
const NULL = -1

/** An array with room for items that take these bytes besides their lengths. */
function arrayOf(type: number, count: number, itemBytes: number, hasNulls: boolean): Buffer {
  const headerBytes = count === 0 ? EMPTY_HEADER_BYTES : HEADER_BYTES
  const out = Buffer.allocUnsafe(headerBytes + count * LENGTH_BYTES + itemBytes)
  out.writeInt32BE(count === 0 ? 0 : 1, 0)
  out.writeInt32BE(hasNulls ? 1 : 0, 4)
  out.writeInt32BE(type, 8)
  if (count > 0) {
    out.writeInt32BE(count, 12)
    out.writeInt32BE(1, 16)
  }
  return out
}

function writeInt8(out: Buffer, value: number, at: number): number {
  out.writeInt32BE(Math.floor(value / 2 ** 32), at)
  return out.writeUInt32BE(value >>> 0, at + 4)
}

/** Within JavaScript's safe integers. */
export function int8(value: number): Buffer {
  const out = Buffer.allocUnsafe(8)
  writeInt8(out, value, 0)
  return out
}

function bytesArray(type: number, items: readonly (Buffer | undefined)[]): Buffer {
  let bytes = 0
  let hasNulls = false
  for (const item of items) {
    if (item === undefined) hasNulls = true
    else bytes += item.length
  }
  const out = arrayOf(type, items.length, bytes, hasNulls)
  let at = HEADER_BYTES
  for (const item of items) {
    at = out.writeInt32BE(item === undefined ? NULL : item.length, at)
    if (item !== undefined) at += item.copy(out, at)
  }
  return out
}

export const byteaArray = (items: readonly (Buffer | undefined)[]): Buffer => bytesArray(BYTEA, items)
/** Eight bytes each, already in network order. */
export const rawInt8Array = (items: readonly Buffer[]): Buffer => bytesArray(INT8, items)

export function int8Array(items: readonly (number | undefined)[]): Buffer {
  let present = 0
  for (const item of items) if (item !== undefined) present++
  const out = arrayOf(INT8, items.length, 8 * present, present < items.length)
  let at = HEADER_BYTES
  for (const item of items) {
    at = out.writeInt32BE(item === undefined ? NULL : 8, at)
    if (item !== undefined) at = writeInt8(out, item, at)
  }
  return out
}

export function int4Array(items: readonly number[]): Buffer {
  const out = arrayOf(INT4, items.length, 4 * items.length, false)
  let at = HEADER_BYTES
  for (const item of items) at = out.writeInt32BE(item, out.writeInt32BE(4, at))
  return out
}

export function boolArray(items: readonly boolean[]): Buffer {
  const out = arrayOf(BOOL, items.length, items.length, false)
  let at = HEADER_BYTES
  for (const item of items) at = out.writeUInt8(item ? 1 : 0, out.writeInt32BE(1, at))
  return out
}
