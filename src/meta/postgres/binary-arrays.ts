/**
 * Arrays in PostgreSQL's binary format for use as parameters: `pg` sends a Buffer as is, but writes other arrays as
 * text with two hex digits per byte. (Results are text in any case.)
 */
const BOOL = 16
const BYTEA = 17
const INT8 = 20
const INT4 = 23

const HEADER_BYTES = 20
const ABSENT = Buffer.from([0xff, 0xff, 0xff, 0xff])

function array(type: number, items: readonly (Buffer | undefined)[]): Buffer {
  const header = Buffer.alloc(items.length === 0 ? HEADER_BYTES - 8 : HEADER_BYTES)
  header.writeInt32BE(items.length === 0 ? 0 : 1, 0)
  header.writeInt32BE(items.includes(undefined) ? 1 : 0, 4)
  header.writeInt32BE(type, 8)
  if (items.length > 0) {
    header.writeInt32BE(items.length, 12)
    header.writeInt32BE(1, 16)
  }
  const pieces: Buffer[] = [header]
  for (const item of items) {
    if (item === undefined) {
      pieces.push(ABSENT)
      continue
    }
    const length = Buffer.allocUnsafe(4)
    length.writeInt32BE(item.length, 0)
    pieces.push(length, item)
  }
  return Buffer.concat(pieces)
}

function int4(value: number): Buffer {
  const out = Buffer.allocUnsafe(4)
  out.writeInt32BE(value, 0)
  return out
}

function int8(value: number): Buffer {
  const out = Buffer.allocUnsafe(8)
  out.writeBigInt64BE(BigInt(value), 0)
  return out
}

export const byteaArray = (items: readonly (Buffer | undefined)[]): Buffer => array(BYTEA, items)
export const int4Array = (items: readonly number[]): Buffer => array(INT4, items.map(int4))
export const boolArray = (items: readonly boolean[]): Buffer =>
  array(
    BOOL,
    items.map(item => Buffer.from([item ? 1 : 0])),
  )
export const int8Array = (items: readonly (number | undefined)[]): Buffer =>
  array(
    INT8,
    items.map(item => (item === undefined ? undefined : int8(item))),
  )
/** Eight bytes each, already in network order. */
export const rawInt8Array = (items: readonly Buffer[]): Buffer => array(INT8, items)
