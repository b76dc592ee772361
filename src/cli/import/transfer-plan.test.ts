import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { ListedEntry } from './listing.ts'
import { planTransfer, type RememberedTransfers, similarityOf } from './transfer-plan.ts'

const version = (etag: string, size = 1): ListedEntry => ({ versionId: `id-${etag}`, marker: false, size, etag })
const MARKER: ListedEntry = { versionId: 'm', marker: true, size: 0, etag: '' }

const knowing = (change: Partial<RememberedTransfers> = {}): RememberedTransfers => ({
  isLeftOut: () => false,
  etagOf: () => undefined,
  sameBytes: async () => false,
  ...change,
})

test('similarity: kind, then size, then ETag', () => {
  assert.equal(similarityOf(MARKER, MARKER, undefined), 'same')
  assert.equal(similarityOf(MARKER, version('a'), undefined), 'different')
  assert.equal(similarityOf(version('a'), version('a', 2), undefined), 'different')
  assert.equal(similarityOf(version('a'), version('a'), undefined), 'same')
  assert.equal(similarityOf(version('a'), version('b'), undefined), 'unsure')
  assert.equal(similarityOf(version('a'), version('b'), 'b'), 'same')
})

const anyVersion = fc.oneof(
  fc.constant(MARKER),
  fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom(1, 2)).map(([etag, size]) => version(etag, size)),
)

test('an interrupted import misses only the versions after the interruption', () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyVersion), fc.nat(), async (source, cut) => {
      const done = cut % (source.length + 1)
      const { missing, matched, differs } = await planTransfer(source, source.slice(0, done), knowing())
      assert.deepEqual([missing, matched.length, differs], [source.slice(done), done, false])
    }),
  ))

test('a different version at the target is never overwritten, and newer versions are kept', async () => {
  const source = [version('a'), version('b')]
  assert.equal((await planTransfer(source, [version('x', 9)], knowing())).differs, true)
  assert.equal((await planTransfer(source, [version('x')], knowing())).differs, true)
  const ahead = await planTransfer(source, [...source, version('new')], knowing())
  assert.deepEqual([ahead.missing, ahead.differs], [[], false])
})

test('equal bytes under another ETag are the same version; skipped versions block nothing', async () => {
  const source = [version('a'), version('b'), version('c')]
  const same = await planTransfer(source, [version('x')], knowing({ sameBytes: async () => true }))
  assert.deepEqual([same.missing, same.differs], [source.slice(1), false])
  const without = knowing({ isLeftOut: one => one.etag === 'b' })
  const rest = await planTransfer(source, [version('a'), version('c')], without)
  assert.deepEqual([rest.missing, rest.differs], [[], false])
})
