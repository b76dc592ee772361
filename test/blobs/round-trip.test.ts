import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { shortOrLong } from '../long.ts'
import { asynchronously, cut, idOf, open, payload, readAll } from './fixture.ts'

test('the bytes do not depend on how the body was cut', async () => {
  const blobs = await open(new MemoryDisk(), { packedBytesMax: 50_000 })
  let number = 0
  for (const length of [49_999, 50_000, 50_001, 1_300_000]) {
    const bytes = payload(length)
    for (const sizes of [[1, 4095], [4096], [4097, 1], [10_000, 3, 70_000], [700_000], [2 ** 24]]) {
      const id = idOf(number++)
      const body = asynchronously(cut(bytes, sizes))
      const location = await blobs.write(id, body, 1000 + number)
      assert.deepEqual(await readAll(blobs, id, location), bytes)
    }
  }
  await blobs.close()
})

test('a range read equals a slice of the body', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk, { packedBytesMax: 3000 })
  let number = 0
  const shape = fc.record({
    length: fc.integer({ min: 0, max: 9000 }),
    frameBytes: fc.integer({ min: 1, max: 4000 }),
    ends: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
  })
  await fc.assert(
    fc.asyncProperty(shape, async ({ length, frameBytes, ends }) => {
      const id = idOf(number++)
      const bytes = payload(length)
      const location = await blobs.write(id, [bytes], frameBytes)
      const [start, end] = ends.map(fraction => Math.round(fraction * length)).sort((a, b) => a - b) as [number, number]
      assert.deepEqual(await readAll(blobs, id, location, start, end), bytes.subarray(start, end))
      const whole = await blobs.readAtOnce(id, location, start, end)
      // Packed bytes need no streaming, unless they have more frames than one read covers.
      const isShort = location.volume !== undefined && start < end && length / frameBytes < 200
      if (isShort || whole !== undefined) assert.deepEqual(whole, bytes.subarray(start, end))
    }),
    { numRuns: shortOrLong(100, 1000) },
  )
  await blobs.close()
  assert.equal(disk.openFiles, 0)
})

test('a small packed read is one read of the file', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  const location = await blobs.write(idOf(1), [payload(10_000)])
  await readAll(blobs, idOf(1), location)
  const before = disk.calls
  await readAll(blobs, idOf(1), location)
  assert.equal(disk.calls - before, 1)
  await blobs.close()
})

test('volumes, records and solos list what was written', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk, { packedBytesMax: 5000, volumeBytesMax: 64 * 1024 })
  const written = new Map<string, string>()
  const solos: string[] = []
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      [0, 1, 17, 4096, 5000, 5001].map(async (length, turn) => {
        const id = idOf(round * 100 + turn)
        const location = await blobs.write(id, [payload(length)], 999)
        if (location.volume === undefined) solos.push(id.toString('hex'))
        else written.set(id.toString('hex'), JSON.stringify(location))
      }),
    )
  }
  const states = await blobs.volumes()
  assert(states.length > 1, 'the volumes were rotated')
  assert.equal(states.filter(state => state.open).length, 1)
  const walked = new Map<string, string>()
  for (const { name, bytes } of states) {
    assert(bytes <= 64 * 1024, `${name} has ${bytes} bytes`)
    for await (const { id, location } of blobs.entries(name)) walked.set(id.toString('hex'), JSON.stringify(location))
  }
  assert.deepEqual(walked, written)
  const found: string[] = []
  for await (const id of blobs.solos()) found.push(id.toString('hex'))
  assert.deepEqual(found.sort(), solos.sort())
  await blobs.close()
  assert.equal(disk.openFiles, 0)
})
