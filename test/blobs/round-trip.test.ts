import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { shortOrLong } from '../long.ts'
import { asynchronously, cut, idOf, open, payload, readAll } from './fixture.ts'

const FRAME = 65536
const PACKED_MAX = 2 ** 20

for (const frameBytes of [FRAME, FRAME + 32]) {
  test(`a body comes back as it was, at every border (frames of ${frameBytes})`, async () => {
    const blobs = await open(new MemoryDisk())
    const border = [frameBytes, 2 * frameBytes, 5 * frameBytes, PACKED_MAX, PACKED_MAX + frameBytes, 3 * PACKED_MAX]
    const lengths = [0, 1, 4096, 4097, ...border.flatMap(at => [at - 1, at, at + 1])]
    for (const [number, length] of lengths.entries()) {
      const bytes = payload(length)
      const location = await blobs.write(idOf(number), [bytes], frameBytes)
      assert.equal(location.length, length)
      assert.equal(location.frameBytes, frameBytes)
      assert.equal(
        location.volume === undefined,
        length > PACKED_MAX,
        `${length} bytes are on the right side of the border`,
      )
      assert.deepEqual(await readAll(blobs, idOf(number), location), bytes, `${length} bytes`)
    }
    await blobs.close()
  })
}

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

test('a range read answers what slicing would', async () => {
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

test('ranges of a long blob, far from its head and across chunks', async () => {
  const blobs = await open(new MemoryDisk())
  const bytes = payload(5 * 2 ** 20 + 77)
  const location = await blobs.write(idOf(1), [bytes])
  for (const [start, end] of [
    [0, 1],
    [FRAME, FRAME + 1],
    [FRAME - 1, FRAME + 1],
    [3 * 2 ** 20, 3 * 2 ** 20 + 10],
    [1_000_000, 4_500_000],
    [bytes.length - 1, bytes.length],
    [bytes.length, bytes.length],
    [1_000_001, 1_000_001],
  ] as const) {
    assert.deepEqual(
      await readAll(blobs, idOf(1), location, start, end),
      bytes.subarray(start, end),
      `[${start}, ${end})`,
    )
  }
  assert.throws(() => blobs.read(idOf(1), location, 1, bytes.length + 1), /not within/)
  assert.throws(() => blobs.read(idOf(1), location, 2, 1), /not within/)
  await blobs.close()
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

test('seal ends a volume, and a sealed volume can be removed', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  await blobs.closeVolume()
  const first = await blobs.write(idOf(1), [payload(10)])
  await readAll(blobs, idOf(1), first)
  await assert.rejects(blobs.removeVolume(first.volume!), /still being written/)
  const pending = blobs.write(idOf(2), [payload(20)])
  await blobs.closeVolume()
  const second = await pending
  const third = await blobs.write(idOf(3), [payload(30)])
  assert.notEqual(third.volume, first.volume)
  assert.deepEqual(await readAll(blobs, idOf(2), second), payload(20))
  await blobs.removeVolume(first.volume!)
  const names = (await blobs.volumes()).map(state => state.name)
  assert(!names.includes(first.volume!))
  await assert.rejects(readAll(blobs, idOf(1), first), /missing/)
  await assert.rejects(blobs.removeVolume('../solo'), /not a volume/)
  await assert.rejects(readAll(blobs, idOf(1), { ...first, volume: '../../secret' }), /not a volume/)
  await blobs.close()
  await assert.rejects(blobs.write(idOf(9), []), /closed/)
})
