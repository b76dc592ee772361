import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RESERVE_BYTES } from '../blobs/file-blobs.ts'
import { MemoryDisk } from '../lib/memory-disk.ts'
import { BALLAST_BYTES, BALLAST_FILE, Ballast, LOW_BYTES } from './ballast.ts'
import { DiskWatch } from './disk-watch.ts'

const GIB = 2 ** 30

/** A disk whose free space the test sets; its files take no space. */
async function roomyDisk(): Promise<{ disk: MemoryDisk; room: { free: number }; names: () => Promise<string[]> }> {
  const disk = new MemoryDisk()
  const room = { free: GIB }
  disk.free = async () => room.free
  await disk.makeFolder('/data')
  return { disk, room, names: () => disk.list('/data') }
}

test('a full disk is logged as an error once, and its recovery once', async () => {
  const { disk, room } = await roomyDisk()
  const lines: Readonly<Record<string, unknown>>[] = []
  const tell = { log: (line: (typeof lines)[0]) => lines.push(line), notice() {}, abort() {} }
  const watch = new DiskWatch(disk, {}, { data: '/data', blobs: undefined, memory: false }, tell)
  const full = (): unknown => watch.tasks()[0]!.samples!()[0]![2]
  await watch.step()
  assert.deepEqual([watch.isFull, full(), lines], [false, 0, []])
  room.free = RESERVE_BYTES - 1
  for (let i = 0; i < 3; i++) await watch.step()
  assert.deepEqual([watch.isFull, full(), lines.map(({ level }) => level)], [true, 1, ['error']])
  assert.match(String(lines[0]!.message), /disk of \/data is full.*reads and deletes are served/)
  room.free = GIB
  await watch.step()
  assert.deepEqual([watch.isFull, full(), lines.map(({ level }) => level)], [false, 0, ['error', 'info']])
})

test('an engine of blobs is watched by the space it reports, and named without its options', async () => {
  const { disk } = await roomyDisk()
  const lines: Readonly<Record<string, unknown>>[] = []
  const tell = { log: (line: (typeof lines)[0]) => lines.push(line), notice() {}, abort() {} }
  const space = { totalBytes: GIB, freeBytes: RESERVE_BYTES - 1 }
  const config = { data: '/data', blobs: 'engine://me:hush@pool/x?key=hush', memory: false }
  const watch = new DiskWatch(disk, { capacity: async () => space }, config, tell)
  await watch.step()
  assert.equal(watch.isFull, true)
  assert.match(String(lines[0]!.message), /disk of engine:\/\/pool\/x is full/)
  space.freeBytes = GIB
  await watch.step()
  assert.deepEqual([watch.isFull, lines.length], [false, 2])
})

test('ballast is allocated while space is ample, released on a full disk, and allocated again', async () => {
  const { disk, room, names } = await roomyDisk()
  const ballast = new Ballast(disk, '/data')
  room.free = GIB + BALLAST_BYTES - 1
  await ballast.allocate(GIB)
  assert.deepEqual(await names(), [])
  room.free = GIB + BALLAST_BYTES
  await ballast.allocate(GIB)
  assert.deepEqual(await names(), [BALLAST_FILE])
  assert.equal(await (await disk.open(`/data/${BALLAST_FILE}`, 'read')).size(), BALLAST_BYTES)
  room.free = LOW_BYTES
  assert.equal(await ballast.release(), false)
  room.free = LOW_BYTES - 1
  assert.equal(await ballast.release(), true)
  assert.deepEqual(await names(), [])
  assert.equal(await ballast.release(), false)
})

test('ballast that does not fit leaves no file behind', async () => {
  const { disk, names } = await roomyDisk()
  const { open } = disk
  disk.open = async (path, how) => {
    const file = await open.call(disk, path, how)
    const full = (): Promise<void> => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' }))
    return how === 'create' ? { ...file, write: full, close: () => file.close() } : file
  }
  await assert.rejects(new Ballast(disk, '/data').allocate(0), /full/)
  assert.deepEqual(await names(), [])
})
