import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, list, struct, uint } from '../../src/lib/codec.ts'
import {
  type ContentPage,
  type ContentPart,
  type ContentRecord,
  contentFormat,
  pageFormat,
} from '../../src/model/content.ts'
import type { Version } from '../../src/model/version.ts'
import { recordKey } from '../../src/store/commit/record-keys.ts'
import { transact } from '../../src/store/commit/transaction.ts'
import { partsAfter } from '../../src/store/content/part-table.ts'
import { freshStore } from './fixture.ts'

/** Part numbers page by page, with a gap; each part is as long as its number. */
const PAGES = [[1, 2], [5, 7], [8]] as const

test('R90: contents of the format without part checksums are read', async () => {
  const now = { referenceCount: 2, size: 3, depth: 1, pages: [{ start: 0, firstPart: 1, parts: 1 }], sums: 'CRC32' }
  const { sums: _sums, ...old } = now
  const page = struct<ContentPage>({ start: uint, firstPart: uint, parts: uint })
  const before = format(
    'C1',
    struct<Omit<ContentRecord, 'sums'>>({ referenceCount: uint, size: uint, depth: uint, pages: list(page) }),
  )
  assert.deepEqual(contentFormat.decode(contentFormat.encode(now)), now)
  assert.deepEqual(contentFormat.decode(before.encode(old)), { ...old, sums: undefined })
  const { store } = await freshStore()
  const id = store.context.ids.next()
  const part: ContentPart = { number: 1, size: 3, etag: 'e', checksum: 'DUoRhQ==', slices: [] }
  await transact(store.context, async tx => {
    tx.put(recordKey.page(id, 0), pageFormat.encode([part]))
    tx.put(recordKey.content(id), before.encode(old))
  })
  const sumOf = async (type: string) => {
    const version = { parts: 1, content: { kind: 'shared', id }, checksum: { algorithm: 'CRC32', type } }
    const [found] = (await partsAfter(store.context, version as unknown as Version, 0, 1)).parts
    return [found?.checksum, found?.algorithm]
  }
  assert.deepEqual(await sumOf('COMPOSITE'), ['DUoRhQ==', 'CRC32'])
  assert.deepEqual(await sumOf('FULL_OBJECT'), [undefined, undefined])
})

test('R90: the table of parts is read from where it is asked, page by page', async () => {
  const { store } = await freshStore()
  const { context } = store
  const id = context.ids.next()
  const part = (number: number): ContentPart => ({
    number,
    size: number,
    etag: `e${number}`,
    checksum: undefined,
    slices: [],
  })
  await transact(context, async tx => {
    let start = 0
    const pages = PAGES.map((numbers, index) => {
      tx.put(recordKey.page(id, index), pageFormat.encode(numbers.map(part)))
      const page = { start, firstPart: numbers[0], parts: numbers.length }
      start += numbers.reduce<number>((sum, number) => sum + number, 0)
      return page
    })
    tx.put(
      recordKey.content(id),
      contentFormat.encode({ referenceCount: 1, size: start, depth: 0, pages, sums: undefined }),
    )
  })
  const version = { parts: 5, content: { kind: 'shared', id } } as unknown as Version
  const read = async (after: number, limit: number) => {
    const { parts, more } = await partsAfter(context, version, after, limit)
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
  assert.deepEqual(await partsAfter(context, plain, 0, 10), { parts: [], more: false })
})
