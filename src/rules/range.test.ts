import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Fault } from '../model/faults.ts'
import { contentRange, copyRange, requestedRange } from './range.ts'

const read = (header: string, size: number): string => {
  try {
    const range = requestedRange(header, size)
    return range === undefined ? 'whole' : `${range.start}..${range.end}`
  } catch (error) {
    assert(error instanceof Fault)
    assert.deepEqual(error.detail, { RangeRequested: header, ActualObjectSize: size })
    return error.code
  }
}

test('G11 A59: one range, in all its forms', () => {
  const huge = '18446744073709551616'
  const rows: readonly (readonly [string, number, string])[] = [
    ['bytes=0-9', 100, '0..10'],
    ['bytes=0-0', 1, '0..1'],
    ['bytes=5-', 10, '5..10'],
    ['bytes=-3', 10, '7..10'],
    ['bytes=-30', 10, '0..10'],
    ['bytes=9-99', 10, '9..10'],
    ['BYTES=0-1', 10, '0..2'],
    [' bytes=0-1 ', 10, '0..2'],
    ['bytes=007-008', 10, '7..9'],
    [`bytes=0-${huge}`, 10, '0..10'],
    [`bytes=-${huge}`, 10, '0..10'],
    [`bytes=${huge}-`, 10, 'InvalidRange'],
    [`bytes=${huge}-${huge}`, 10, 'InvalidRange'],
    ['bytes=10-', 10, 'InvalidRange'],
    ['bytes=10-20', 10, 'InvalidRange'],
    ['bytes=-0', 10, 'InvalidRange'],
    ['bytes=0-', 0, 'InvalidRange'],
    ['bytes=0-0', 0, 'InvalidRange'],
    ['bytes=-1', 0, 'whole'],
    [`bytes=-${huge}`, 0, 'whole'],
    ['bytes=-0', 0, 'InvalidRange'],
    ['bytes=5-9', 0, 'InvalidRange'],
    ['bytes=9-1', 100, 'whole'],
    ['bytes=9-1', 5, 'whole'],
    ['bytes=-', 10, 'whole'],
    ['bytes=', 10, 'whole'],
    ['bytes=a-b', 10, 'whole'],
    ['bytes=0-1,3-4', 10, 'whole'],
    [`bytes=${'0-1,'.repeat(1000)}0-1`, 10, 'whole'],
    ['bytes 0-1', 10, 'whole'],
    ['bytes=0 - 1', 10, 'whole'],
    ['bytes=--1', 10, 'whole'],
    ['bytes=0x1-2', 10, 'whole'],
    ['bytes=1e0-2', 10, 'whole'],
    ['items=0-1', 10, 'whole'],
    ['', 10, 'whole'],
  ]
  for (const [header, size, expected] of rows) assert.equal(read(header, size), expected, `${header} of ${size}`)
})

test('G11: the bytes of a range lie inside the object and inside the request', () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), fc.nat(50), (first, last, size) => {
      const bytes = Array.from({ length: size }, (_, i) => i)
      const asked = bytes.filter(i => i >= first && i <= last)
      if (first > last) assert.equal(read(`bytes=${first}-${last}`, size), 'whole')
      else if (asked.length === 0) assert.equal(read(`bytes=${first}-${last}`, size), 'InvalidRange')
      else assert.equal(read(`bytes=${first}-${last}`, size), `${asked[0]}..${asked.at(-1)! + 1}`)
      const tail = bytes.slice(-last)
      if (last === 0) assert.equal(read(`bytes=-${last}`, size), 'InvalidRange')
      else if (size === 0) assert.equal(read(`bytes=-${last}`, size), 'whole')
      else assert.equal(read(`bytes=-${last}`, size), `${tail[0]}..${size}`)
    }),
  )
})

test('R73: the range of a part copy must be whole and inside', () => {
  const copy = (header: string, size: number): string => {
    try {
      const { start, end } = copyRange(header)(size)
      return `${start}..${end}`
    } catch (error) {
      assert(error instanceof Fault)
      return error.code
    }
  }
  assert.equal(copy('bytes=0-9', 10), '0..10')
  assert.equal(copy('bytes=3-3', 10), '3..4')
  assert.equal(copy('bytes=0-10', 10), 'InvalidArgument')
  assert.equal(copy('bytes=10-10', 10), 'InvalidRequest')
  assert.equal(copy('bytes=0-0', 0), 'InvalidRequest')
  for (const header of ['', 'bytes=0-', 'bytes=-5', 'bytes=5-4', '0-9', 'bytes=0-1,2-3', 'bytes=a-b', 'bytes=+1-2']) {
    assert.equal(copy(header, 10), 'InvalidArgument', header)
  }
})

test('Content-Range states first byte, last byte and size', () => {
  assert.equal(contentRange({ start: 0, end: 10 }, 100), 'bytes 0-9/100')
})
