import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyOf } from '../../lib/bytes.ts'
import { int4Array, int8 } from './binary-values.ts'
import { RowReader } from './row-reader.ts'

const BEFORE = Buffer.from('before')

/** A row within a larger buffer. */
function rowOf(...fields: readonly (Buffer | null)[]): RowReader {
  const pieces = fields.flatMap(field => {
    const length = Buffer.alloc(4)
    length.writeInt32BE(field?.length ?? -1)
    return field === null ? [length] : [length, field]
  })
  const count = Buffer.from([0, fields.length])
  const bytes = Buffer.concat([BEFORE, count, ...pieces, Buffer.from('\0\0\0\x08behind it')])
  const end = bytes.length - 13
  return new RowReader().begin(bytes, BEFORE.length, end)
}

const double = (value: number): Buffer => {
  const out = Buffer.alloc(8)
  out.writeDoubleBE(value)
  return out
}

test('fields are read in the order of their columns', () => {
  const row = rowOf(Buffer.from([1]), int8(7), null, Buffer.from('tëxt'), Buffer.from([0, 255]), Buffer.from([0]))
  assert.equal(row.boolean(), true)
  assert.equal(row.skipNull(), false)
  assert.equal(row.int8(), 7)
  assert.equal(row.skipNull(), true)
  assert.equal(row.text(), 'tëxt')
  assert.deepEqual(copyOf(row.span()), Buffer.from([0, 255]))
  assert.equal(row.boolean(), false)
})

test('numbers keep their values', () => {
  for (const value of [0, 1, 255, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER, -1, -(2 ** 40)])
    assert.equal(rowOf(int8(value)).int8(), value)
  for (const value of [0, 1.5, 1_789_000_000_000.25]) assert.equal(rowOf(double(value)).float8(), value)
  for (const values of [[], [0], [3, 1, 2 ** 31 - 1]]) assert.deepEqual(rowOf(int4Array(values)).int4Array(), values)
})

test('a copy is independent of the row, and a span is not', () => {
  const bytes = Buffer.from([0, 2, 0, 0, 0, 1, 65, 0, 0, 0, 1, 66])
  const row = new RowReader().begin(bytes, 0, bytes.length)
  const copy = row.copy()
  const span = row.span()
  bytes.fill(0)
  assert.equal(copy.toString(), 'A')
  assert.deepEqual(copyOf(span), Buffer.from([0]))
})

test('a field that is NULL, absent, cut off or of another length is an error', () => {
  assert.throws(() => rowOf(null).int8(), RangeError)
  assert.throws(() => rowOf(null).copy(), RangeError)
  assert.throws(() => rowOf(Buffer.alloc(4)).int8(), RangeError)
  assert.throws(() => rowOf(Buffer.alloc(2)).boolean(), RangeError)
  assert.throws(() => rowOf(null).int4Array(), RangeError)
  const row = rowOf(int8(1))
  row.int8()
  assert.throws(() => row.text(), RangeError)
  const cut = Buffer.from([0, 1, 0, 0, 0, 9, 65])
  assert.throws(() => new RowReader().begin(cut, 0, cut.length).span(), RangeError)
})
