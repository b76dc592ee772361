import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Descriptors, leftOpen } from './descriptors.ts'

const BEFORE: Descriptors = ['/dev/null', '/d/meta/data.mdb', 'socket:[1]', 'pipe:[2]', 'anon_inode:[eventpoll]']
const VOLUME = '/d/blobs/volumes/395219c6ec55-1'

const CASES: readonly (readonly [string, Descriptors, number])[] = [
  ['nothing more', [], 0],
  ['a connection', ['socket:[7]'], 1],
  ['a draft and a connection', ['/d/blobs/drafts/ab', 'socket:[7]'], 2],
  ['a volume, for reading and appending', [VOLUME, VOLUME], 0],
  ['two volumes', [VOLUME, `${VOLUME}0`], 0],
  ['a volume three times too often', [VOLUME, VOLUME, VOLUME, VOLUME, VOLUME], 3],
  ['a volume that was removed', [`${VOLUME} (deleted)`], 1],
  ['two threads', [...Array<string>(6).fill('pipe:[9]'), ...Array<string>(4).fill('anon_inode:[eventfd]')], 0],
  ['thread after thread', Array<string>(40).fill('anon_inode:[eventfd]'), 28],
]

for (const [what, more, left] of CASES) {
  test(`left open: ${what}`, () => assert.equal(leftOpen(BEFORE, [...BEFORE, ...more]), left))
}

test('left open: a connection that has gone counts as one less', () => {
  assert.equal(
    leftOpen(
      BEFORE,
      BEFORE.filter(target => target !== 'socket:[1]'),
    ),
    -1,
  )
})
