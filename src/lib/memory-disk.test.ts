import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Disk } from './disk.ts'
import { MemoryDisk } from './memory-disk.ts'
import { type Random, seededRandom } from './random.ts'
import { SparseBytes } from './sparse-bytes.ts'

/** Neighbouring seeds would start alike, so they are spread first. */
function chance(seed: number): Random {
  const random = seededRandom(Math.imul(seed + 1, 0x9e3779b1))
  random.bytes(64)
  return random
}

const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)

async function created(disk: Disk, path: string, bytes: Buffer, sync = false) {
  const file = await disk.open(path, 'create')
  await file.write([bytes], 0)
  if (sync) await file.datasync()
  return file
}

async function contentOf(disk: Disk, path: string): Promise<Buffer | undefined> {
  try {
    const file = await disk.open(path, 'read')
    const bytes = Buffer.alloc(await file.size())
    await file.read([bytes], 0)
    return bytes
  } catch {
    return undefined
  }
}

/** Every content that a file has after one of many power failures. */
async function outcomes(disk: MemoryDisk, path: string): Promise<Set<string | undefined>> {
  const seen = new Set<string | undefined>()
  for (const seed of SEEDS) seen.add((await contentOf(disk.powerCut(chance(seed)), path))?.toString('hex'))
  return seen
}

test('a file contains what was written to it', async () => {
  const disk = new MemoryDisk()
  await disk.makeFolder('/a/b')
  const file = await disk.open('/a/b/c', 'create')
  await file.write([Buffer.from('one'), Buffer.from('two')], 2)
  assert.equal(await file.size(), 8)
  assert.deepEqual(await contentOf(disk, '/a/b/c'), Buffer.from('\0\0onetwo'))
  const into = Buffer.alloc(10)
  assert.equal(await file.read([into], 5), 3)
  assert.equal(await file.read([into], 8), 0)
  await assert.rejects(disk.open('/a/b/c', 'create'), { code: 'EEXIST' })
  await assert.rejects(disk.open('/a/b/d', 'read'), { code: 'ENOENT' })
  await assert.rejects(disk.open('/x/y', 'create'), { code: 'ENOENT' })
  const reader = await disk.open('/a/b/c', 'read')
  await assert.rejects(reader.write([into], 0), { code: 'EBADF' })
  await reader.close()
  await assert.rejects(reader.read([into], 0), { code: 'EBADF' })
  assert.deepEqual(await disk.list('/a'), ['b'])
  await disk.rename('/a/b/c', '/a/e')
  assert.deepEqual([await disk.list('/a/b'), (await disk.list('/a')).sort()], [[], ['b', 'e']])
  await disk.remove('/a/e')
  await disk.remove('/a/e')
  assert.deepEqual([await disk.list('/a'), await disk.list('/none')], [['b'], []])
  assert.equal(await file.size(), 8, 'a removed file lives on while it is open')
})

test('bytes in chunks behave as one buffer', () => {
  const write = fc.record({
    position: fc.integer({ min: 0, max: 700_000 }),
    length: fc.integer({ min: 0, max: 300_000 }),
  })
  fc.assert(
    fc.property(fc.array(write, { maxLength: 6 }), fc.integer({ min: 0, max: 1_000_000 }), (writes, at) => {
      const bytes = new SparseBytes()
      const model = Buffer.alloc(1_000_000)
      let size = 0
      for (const [turn, { position, length }] of writes.entries()) {
        const piece = Buffer.alloc(length, turn + 1)
        bytes.write(piece, position)
        model.set(piece, position)
        if (length > 0) size = Math.max(size, position + length)
      }
      const into = Buffer.alloc(400_000, 0xff)
      const count = bytes.read(into, at)
      assert.equal(bytes.size, size)
      assert.equal(count, Math.max(0, Math.min(into.length, size - at)))
      assert(into.subarray(0, count).equals(model.subarray(at, at + count)))
    }),
    { numRuns: 40 },
  )
})

test('content is durable after datasync, the name after syncFolder, and neither implies the other', async () => {
  const disk = new MemoryDisk({ crashable: true })
  await disk.makeFolder('/d')
  const bytes = Buffer.from('abc')
  const hex = bytes.toString('hex')
  await created(disk, '/d/synced', bytes, true)
  assert.deepEqual(await outcomes(disk, '/d/synced'), new Set([undefined, hex]))
  await created(disk, '/d/named', bytes)
  await disk.syncFolder('/d')
  assert.deepEqual(await outcomes(disk, '/d/synced'), new Set([hex]))
  assert.deepEqual(await outcomes(disk, '/d/named'), new Set(['', hex]))
})

test('an unsynced write is kept, lost or torn at sectors, and leaves synced bytes intact', async () => {
  const disk = new MemoryDisk({ crashable: true })
  await disk.makeFolder('/d')
  const file = await created(disk, '/d/f', Buffer.alloc(1000, 1), true)
  await disk.syncFolder('/d')
  await file.write([Buffer.alloc(1500, 2)], 1000)
  const kinds = new Set<string>()
  for (const seed of SEEDS) {
    const after = (await contentOf(disk.powerCut(chance(seed)), '/d/f'))!
    assert(after.subarray(0, 1000).equals(Buffer.alloc(1000, 1)))
    const sectors = [after.subarray(1000, 1024), after.subarray(1024, 1536), after.subarray(1536, 2048)]
    for (const sector of sectors) assert(new Set(sector).size <= 1, 'a sector is there or not')
    kinds.add(sectors.map(sector => sector[0] ?? 0).join(''))
  }
  assert(kinds.has('222') && kinds.has('000') && kinds.size > 3, [...kinds].join(' '))
})

test('after a failed sync no later sync makes the same bytes durable', async () => {
  const disk = new MemoryDisk({ crashable: true })
  await disk.makeFolder('/d')
  const file = await created(disk, '/d/f', Buffer.from('x'))
  await disk.syncFolder('/d')
  disk.failAt(1)
  await assert.rejects(file.datasync(), { code: 'EIO' })
  await file.datasync()
  assert((await outcomes(disk, '/d/f')).has(''))
})

test('a rename within a folder is atomic; a removal may be undone', async () => {
  const disk = new MemoryDisk({ crashable: true })
  await disk.makeFolder('/d')
  await created(disk, '/d/old', Buffer.from('o'), true)
  await created(disk, '/d/gone', Buffer.from('g'), true)
  await disk.syncFolder('/d')
  await disk.rename('/d/old', '/d/new')
  await disk.remove('/d/gone')
  const lists = new Set<string>()
  for (const seed of SEEDS) lists.add((await disk.powerCut(chance(seed)).list('/d')).sort().join())
  assert.deepEqual([...lists].sort(), ['gone,new', 'gone,old', 'new', 'old'])
  await disk.syncFolder('/d')
  assert.deepEqual(await disk.powerCut(chance(1)).list('/d'), ['new'])
})

test('the n-th call fails as requested, and only that one', async () => {
  const disk = new MemoryDisk()
  await disk.makeFolder('/d')
  const file = await created(disk, '/d/f', Buffer.alloc(10, 1))
  disk.failAt(2, 'short')
  await file.size()
  await assert.rejects(file.write([Buffer.alloc(4, 2), Buffer.alloc(4, 3)], 10), { code: 'ENOSPC' })
  assert.equal(await file.size(), 14)
  disk.failAt(1, 'ENOSPC')
  await assert.rejects(file.write([Buffer.alloc(4)], 0), { code: 'ENOSPC' })
  await file.write([Buffer.alloc(4)], 0)
  disk.failSyncs = true
  await assert.rejects(file.datasync(), { code: 'EIO' })
  await assert.rejects(disk.syncFolder('/d'), { code: 'EIO' })
  assert.throws(() => disk.powerCut(chance(1)), /crashable/)
})
