import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Listed } from './listing.ts'
import { type Knowledge, likeness, standing } from './matching.ts'

const version = (etag: string, size = 1): Listed => ({ versionId: `id-${etag}`, marker: false, size, etag })
const MARKER: Listed = { versionId: 'm', marker: true, size: 0, etag: '' }

const knowing = (change: Partial<Knowledge> = {}): Knowledge => ({
  isLeftOut: () => false,
  etagOf: () => undefined,
  sameBytes: async () => false,
  ...change,
})

test('likeness: kind, then size, then entity tag', () => {
  assert.equal(likeness(MARKER, MARKER, undefined), 'same')
  assert.equal(likeness(MARKER, version('a'), undefined), 'different')
  assert.equal(likeness(version('a'), version('a', 2), undefined), 'different')
  assert.equal(likeness(version('a'), version('a'), undefined), 'same')
  assert.equal(likeness(version('a'), version('b'), undefined), 'unsure')
  assert.equal(likeness(version('a'), version('b'), 'b'), 'same')
})

const anyVersion = fc.oneof(
  fc.constant(MARKER),
  fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(1, 2)).map(([etag, size]) => version(etag, size)),
)

test('wherever an import was cut off, what follows is missing and nothing else', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyVersion), fc.nat(), async (source, cut) => {
      const done = cut % (source.length + 1)
      const { missing, matched, differs } = await standing(source, source.slice(0, done), knowing())
      assert.deepEqual([missing, matched.length, differs], [source.slice(done), done, false])
    }),
  ))

test('something else in the place of a version is never written over; newer work on top is left alone', async () => {
  const source = [version('a'), version('b')]
  assert.equal((await standing(source, [version('x', 9)], knowing())).differs, true)
  assert.equal((await standing(source, [version('x')], knowing())).differs, true)
  const ahead = await standing(source, [...source, version('new')], knowing())
  assert.deepEqual([ahead.missing, ahead.differs], [[], false])
})

test('equal bytes under another entity tag are the version; a version left out is not waited for', async () => {
  const source = [version('a'), version('b'), version('c')]
  const same = await standing(source, [version('x')], knowing({ sameBytes: async () => true }))
  assert.deepEqual([same.missing, same.differs], [source.slice(1), false])
  const without = knowing({ isLeftOut: one => one.etag === 'b' })
  const rest = await standing(source, [version('a'), version('c')], without)
  assert.deepEqual([rest.missing, rest.differs], [[], false])
})
