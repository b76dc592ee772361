import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Meta } from '../meta.ts'
import { metaSuite } from '../suite.ts'
import { hasAnOrder, randomHistory } from '../suite-history.ts'
import { openMemoryMeta } from './memory.ts'
import { SortedKeys } from './sorted-keys.ts'

metaSuite({
  name: 'memory',
  durable: false,
  async open() {
    const meta = await openMemoryMeta()
    return { meta, destroy: () => meta.close() }
  },
})

/** Number of random histories on this engine that are not linearizable. */
async function violations(broken: (meta: Meta) => Meta): Promise<number> {
  let found = 0
  for (let seed = 1; seed <= 20; seed++) {
    if (!hasAnOrder(await randomHistory(broken(await openMemoryMeta()), seed))) found++
  }
  return found
}

test('the history check detects an engine that ignores a check', async () => {
  const ignoring = (meta: Meta): Meta => ({
    get: key => meta.get(key),
    scan: (range, limit) => meta.scan(range, limit),
    scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
    commit: ({ writes, checks }) => meta.commit({ checks: checks.slice(1), writes }),
    close: () => meta.close(),
  })
  assert.ok((await violations(ignoring)) > 0)
})

test('the history check detects an engine that returns an old state', async () => {
  const stale = (meta: Meta): Meta => {
    const first = new Map<string, ReturnType<Meta['get']>>()
    let reads = 0
    return {
      get(key) {
        const text = key.toString('hex')
        if (++reads % 4 !== 0) first.delete(text)
        if (!first.has(text)) first.set(text, meta.get(key))
        return first.get(text)!
      },
      scan: (range, limit) => meta.scan(range, limit),
      scanMap: (range, limit, make) => meta.scanMap(range, limit, make),
      commit: tx => meta.commit(tx),
      close: () => meta.close(),
    }
  }
  assert.ok((await violations(stale)) > 0)
})

test('sorted keys stay sorted across chunks in both directions, under inserts and removals', () => {
  const keys = new SortedKeys()
  const model = new Set<string>()
  const name = (index: number): string => String((index * 48_271) % 65_537).padStart(5, '0')
  for (let index = 0; index < 12_000; index++) {
    keys.add(name(index))
    keys.add(name(index))
    model.add(name(index))
    if (index % 3 === 0) {
      keys.remove(name(index >> 1))
      keys.remove('not there')
      model.delete(name(index >> 1))
    }
  }
  const sorted = [...model].sort()
  assert.deepEqual([...keys.up('')], sorted)
  assert.deepEqual([...keys.down(undefined)], sorted.toReversed())
  for (const border of ['', '00000', '3', sorted[700]!, `${sorted[700]}x`, '9']) {
    assert.deepEqual(
      [...keys.up(border)],
      sorted.filter(key => key >= border),
    )
    assert.deepEqual([...keys.down(border)], sorted.filter(key => key < border).toReversed())
  }
  for (const key of sorted) keys.remove(key)
  assert.deepEqual([...keys.up('')], [])
  assert.deepEqual([...keys.down(undefined)], [])
})
