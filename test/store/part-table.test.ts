import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ContentPart, contentFormat, pageFormat } from '../../src/model/content.ts'
import type { Version } from '../../src/model/version.ts'
import { at } from '../../src/store/addresses.ts'
import { decide } from '../../src/store/decision.ts'
import { partsAfter } from '../../src/store/part-table.ts'
import { freshStore } from './fixture.ts'

/** Part numbers page by page, with a gap, each part as long as its number. */
const PAGES = [[1, 2], [5, 7], [8]] as const

test('R90: the table of parts is read from where it is asked, page by page', async () => {
  const { store } = await freshStore()
  const { engine } = store
  const id = engine.ids.next()
  const part = (number: number): ContentPart => ({
    number,
    size: number,
    etag: `e${number}`,
    checksum: undefined,
    slices: [],
  })
  await decide(engine, async d => {
    let start = 0
    const pages = PAGES.map((numbers, index) => {
      d.put(at.page(id, index), pageFormat.encode(numbers.map(part)))
      const page = { start, firstPart: numbers[0], parts: numbers.length }
      start += numbers.reduce<number>((sum, number) => sum + number, 0)
      return page
    })
    d.put(at.content(id), contentFormat.encode({ shares: 1, size: start, depth: 0, pages }))
  })
  const version = { parts: 5, content: { kind: 'shared', id } } as unknown as Version
  const read = async (after: number, limit: number) => {
    const { parts, more } = await partsAfter(engine, version, after, limit)
    return { parts: parts.map(({ number, start, end }) => `${number}:${start}-${end}`), more }
  }
  const all = ['1:0-1', '2:1-3', '5:3-8', '7:8-15', '8:15-23']
  assert.deepEqual(await read(0, 10), { parts: all, more: false })
  assert.deepEqual(await read(0, 5), { parts: all, more: false })
  for (const [after, from] of [
    [1, 1],
    [2, 2],
    [3, 2],
    [5, 3],
    [6, 3],
    [7, 4],
    [8, 5],
    [99, 5],
  ] as const) {
    assert.deepEqual(await read(after, 10), { parts: all.slice(from), more: false }, `after ${after}`)
    assert.deepEqual(await read(after, 1), { parts: all.slice(from, from + 1), more: from < 4 }, `one after ${after}`)
  }
  const plain = { parts: 0, content: { kind: 'slices', slices: [] } } as unknown as Version
  assert.deepEqual(await partsAfter(engine, plain, 0, 10), { parts: [], more: false })
})
