import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { utf8 } from '../suite-driver.ts'
import { type CopyRow, compareOrder } from './copy-format.ts'
import { mergeHistories } from './merge.ts'

async function* frames(rows: readonly CopyRow[], size: number): AsyncGenerator<readonly CopyRow[]> {
  for (let at = 0; at < rows.length; at += size) yield rows.slice(at, at + size)
  yield []
}

const rowOf = ([key, txn]: readonly [string, number]): CopyRow => {
  return { generation: 1, txn, seq: 0, key: utf8(key), value: undefined, stamp: 0 }
}

test('any sorted sources merge into one history per key, ordered by key and write', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(fc.tuple(fc.stringMatching(/^[abc]{1,3}$/), fc.nat(50))), { maxLength: 12 }),
      fc.integer({ min: 1, max: 4 }),
      async (given, size) => {
        const sources = given.map(rows => rows.map(rowOf).sort((a, b) => a.key.compare(b.key)))
        const all = sources.flat().sort((a, b) => a.key.compare(b.key) || compareOrder(a, b))
        const merged: CopyRow[] = []
        const keys: string[] = []
        for await (const some of mergeHistories(sources.map(rows => frames(rows, size)))) {
          for (const { key, rows } of some) {
            keys.push(key.toString())
            merged.push(...rows)
          }
        }
        const shown = (rows: readonly CopyRow[]): string[] => rows.map(({ key, txn }) => `${key} ${txn}`)
        assert.deepEqual(shown(merged), shown(all))
        assert.equal(new Set(keys).size, keys.length)
      },
    ),
    { numRuns: 300 },
  ))
