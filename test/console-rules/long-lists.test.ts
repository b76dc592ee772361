/** Lists that are longer than a browser can scroll, and pages that make one list. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { elementsOf, firstDecoded, firstText } from '../../console/src/objects/listing-text.ts'
import { PagedList, ReversedList } from '../../console/src/objects/paged-list.ts'
import { type SlotOrder, slotOf, slotsFor } from '../../console/src/parts/row-slots.ts'
import {
  canvasPixels,
  resized,
  rowsAt,
  type ScrollPosition,
  type ScrollRange,
  scrolledTo,
} from '../../console/src/parts/scroll-range.ts'
import { element, leaf, xmlText } from '../../console/src/rules/xml-text.ts'

const ROW = 44
const TOP: ScrollPosition = { scrollTop: 0, offset: 0 }
const rangeOf = (count: number, viewPixels = 600): ScrollRange => ({ listPixels: count * ROW, viewPixels })
const MILLION = rangeOf(1_000_000)
const endOf = (range: ScrollRange): number => canvasPixels(range) - range.viewPixels

test('a list that fits a browser is scrolled by its own pixels', () => {
  const range = rangeOf(300_000)
  assert.equal(canvasPixels(range), range.listPixels)
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: endOf(range), noNaN: true })), tops => {
      let at = TOP
      for (const top of tops) {
        at = scrolledTo(top, at, range)
        assert(Math.abs(at.offset - top) < 1e-3, `${at.offset} at ${top}`)
      }
    }),
  )
})

test('both ends of a million rows are reached, however one scrolls there', () => {
  const end = endOf(MILLION)
  const step = fc.oneof(
    fc.double({ min: -2000, max: 2000, noNaN: true }),
    fc.double({ min: -end, max: end, noNaN: true }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 50, max: 3000 }), (steps, stride) => {
      let at = TOP
      for (const one of steps) {
        const before = at
        at = scrolledTo(at.scrollTop + one, at, MILLION)
        assert(
          one >= 0 ? at.offset >= before.offset - 1e-3 : at.offset <= before.offset + 1e-3,
          'the direction is kept',
        )
        assert(at.offset >= at.scrollTop - 1e-3, 'the list has no less above than the range')
      }
      at = scrolledTo(end - 40_000, at, MILLION)
      while (at.scrollTop < end) at = scrolledTo(at.scrollTop + stride, at, MILLION)
      assert.equal(rowsAt(at.offset, 600, { count: 1_000_000, rowPixels: ROW, overscan: 0 }).end, 1_000_000)
      at = scrolledTo(40_000, at, MILLION)
      while (at.scrollTop > 0) at = scrolledTo(at.scrollTop - stride, at, MILLION)
      assert.equal(at.offset, 0)
    }),
    { numRuns: 50 },
  )
})

test('a small step in the middle of a million rows moves them by as many pixels', () => {
  const middle = scrolledTo(endOf(MILLION) / 2, TOP, MILLION)
  assert.equal(Math.round(middle.offset / ROW), Math.round(500_000 - 300 / ROW))
  assert.equal(scrolledTo(middle.scrollTop + 100, middle, MILLION).offset, middle.offset + 100)
  assert.equal(scrolledTo(middle.scrollTop - 7, middle, MILLION).offset, middle.offset - 7)
})

test('rows that arrive at the end of the range can be scrolled to, and the rows in view stay', () => {
  let at = scrolledTo(endOf(MILLION), TOP, MILLION)
  for (let count = 1_001_000; count <= 1_010_000; count += 1000) {
    const longer = rangeOf(count)
    const kept = resized(at, longer)
    assert.equal(kept.offset, at.offset)
    assert(kept.scrollTop < endOf(longer) - 100, 'there is a way on')
    at = scrolledTo(endOf(longer), kept, longer)
    assert.equal(at.offset, longer.listPixels - longer.viewPixels)
  }
  assert.deepEqual(resized(at, rangeOf(20)), { scrollTop: 280, offset: 280 })
})

test('rows in view are those that the view touches, and some around them', () => {
  const rows = { count: 100, rowPixels: 10, overscan: 2 }
  assert.deepEqual(rowsAt(0, 25, rows), { first: 0, end: 5 })
  assert.deepEqual(rowsAt(305, 25, rows), { first: 28, end: 35 })
  assert.deepEqual(rowsAt(975, 25, rows), { first: 95, end: 100 })
})

test('slots keep the order of rows, so that a step moves few elements and a jump none', () => {
  const COUNT = 30
  const orderAt = (slots: SlotOrder): number[] =>
    Array.from({ length: COUNT }, (_, i) => slotOf(slots.first + i, slots, COUNT))
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.nat(60), fc.nat(1_000_000))), firsts => {
      let slots: SlotOrder = { first: 0, shift: 0 }
      for (const first of firsts) {
        const before = orderAt(slots)
        const step = first - slots.first
        slots = slotsFor(first, slots, COUNT)
        const after = orderAt(slots)
        assert.deepEqual(new Set(after).size, COUNT)
        if (Math.abs(step) >= COUNT) assert.deepEqual(after, before)
        else if (step >= 0) assert.deepEqual(after.slice(0, COUNT - step), before.slice(step))
        else assert.deepEqual(after.slice(-step), before.slice(0, step))
      }
    }),
  )
})

test('pages are one list', () => {
  fc.assert(
    fc.property(fc.array(fc.array(fc.string()), { maxLength: 20 }), pages => {
      const all = pages.flat()
      const list = new PagedList(pages)
      const reversed = new ReversedList(list)
      assert.deepEqual([...list], all)
      assert.deepEqual([...reversed], all.toReversed())
      assert.deepEqual([list.length, reversed.length], [all.length, all.length])
      for (let i = 0; i <= all.length; i++) {
        assert.equal(list.at(i), all[i])
        assert.equal(reversed.at(i), all.toReversed()[i])
      }
    }),
  )
})

test('a listing is read as it was written', () => {
  const text = fc
    .string({ unit: 'grapheme', minLength: 1 })
    .map(one => one.trim())
    .filter(one => one !== '')
  const row = fc.record(
    { name: fc.constantFrom('Version', 'DeleteMarker'), key: text, etag: text },
    { noNullPrototype: true },
  )
  fc.assert(
    fc.property(fc.array(row), text, (rows, next) => {
      const written = xmlText(
        element(
          'ListVersionsResult',
          leaf('NextKeyMarker', encodeURIComponent(next).replaceAll('%20', '+')),
          ...rows.map(({ name, key, etag }) =>
            element(name, leaf('Key', encodeURIComponent(key)), leaf('ETag', etag), leaf('Size', '5')),
          ),
        ),
      )
      const read = elementsOf(written, 'Version', 'DeleteMarker').map(({ name, content }) => ({
        name,
        key: firstDecoded(content, 'Key'),
        etag: firstText(content, 'ETag'),
      }))
      assert.deepEqual(read, rows)
      assert.equal(firstDecoded(written, 'NextKeyMarker'), next)
      assert.equal(firstText(written, 'Owner'), undefined)
    }),
  )
})
