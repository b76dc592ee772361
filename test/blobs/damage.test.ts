import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BlobLocation, Blobs, PackedEntry } from '../../src/blobs/blobs.ts'
import { crc32 } from '../../src/lib/crc.ts'
import { MemoryDisk } from '../../src/lib/memory-disk.ts'
import { contentOf, idOf, isDamaged, open, pathOf, payload, readAll, replace } from './fixture.ts'

/** A disk with one blob of three frames, and the blob's location. */
async function stored(kind: 'packed' | 'solo') {
  const disk = new MemoryDisk()
  const blobs = await open(disk, { packedBytesMax: kind === 'packed' ? 1000 : 10 })
  const bytes = payload(90)
  const location = await blobs.write(idOf(1), [bytes], 40)
  await blobs.close()
  return { disk, bytes, place: location, path: pathOf(idOf(1), location) }
}

/** Both ways of reading give the same result, where there are two: for a volume that could be opened. */
async function readAnew(disk: MemoryDisk, location: BlobLocation): Promise<Buffer> {
  const blobs = await open(disk)
  try {
    const [streamed] = await Promise.allSettled([readAll(blobs, idOf(1), location)])
    const isOpen = location.volume !== undefined && !/missing/.test(String((streamed as { reason?: unknown }).reason))
    const [whole] = await Promise.allSettled([atOnce(blobs, location)])
    assert.deepEqual(whole, isOpen ? streamed : { status: 'fulfilled', value: undefined })
    if (streamed.status === 'rejected') throw streamed.reason
    return streamed.value
  } finally {
    await blobs.close()
  }
}

const atOnce = async (blobs: Blobs, location: BlobLocation) => blobs.readAtOnce(idOf(1), location, 0, location.length)

async function recordsOf(disk: MemoryDisk, volume: string): Promise<PackedEntry[]> {
  const blobs = await open(disk)
  const records: PackedEntry[] = []
  for await (const record of blobs.entries(volume)) records.push(record)
  await blobs.close()
  return records
}

for (const kind of ['packed', 'solo'] as const) {
  test(`A73: every flipped bit of a ${kind} blob is detected`, async () => {
    const { disk, place: location, path } = await stored(kind)
    const original = await contentOf(disk, path)
    // Three frames after the header, and the footer of a solo file.
    const end = location.offset + 36 + 90 + 3 * 4 + (kind === 'solo' ? 16 : 0)
    if (kind === 'solo') assert.equal(end, original.length)
    for (let at = location.offset; at < end; at++) {
      for (let bit = 0; bit < 8; bit++) {
        const flipped = Buffer.from(original)
        flipped[at] = flipped[at]! ^ (1 << bit)
        await replace(disk, path, flipped)
        await assert.rejects(readAnew(disk, location), isDamaged, `byte ${at}, bit ${bit}`)
      }
    }
  })

  test(`a ${kind} blob that is cut short anywhere, or missing, is reported`, async () => {
    const { disk, bytes, place: location, path } = await stored(kind)
    const original = await contentOf(disk, path)
    const end = location.offset + 36 + 90 + 3 * 4 + (kind === 'solo' ? 16 : 0)
    for (let length = location.offset; length < end; length++) {
      await replace(disk, path, original.subarray(0, length))
      await assert.rejects(readAnew(disk, location), isDamaged, `cut at ${length}`)
    }
    await replace(disk, path, original)
    assert.deepEqual(await readAnew(disk, location), bytes)
    await disk.remove(path)
    await assert.rejects(readAnew(disk, location), error => isDamaged(error) && /missing/.test(String(error)))
  })

  test(`A73: frames of a ${kind} blob that changed places are detected`, async () => {
    const { disk, place: location, path } = await stored(kind)
    const swapped = await contentOf(disk, path)
    const first = location.offset + 36
    const frame = Buffer.from(swapped.subarray(first, first + 44))
    swapped.copy(swapped, first, first + 44, first + 88)
    frame.copy(swapped, first + 44)
    await replace(disk, path, swapped)
    await assert.rejects(readAnew(disk, location), isDamaged)
  })
}

test('A73: a blob replaced by another one is detected', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk, { packedBytesMax: 50 })
  const [mine, other, long, longer] = await Promise.all([
    blobs.write(idOf(1), [payload(20, 1)]),
    blobs.write(idOf(2), [payload(20, 2)]),
    blobs.write(idOf(3), [payload(70, 3)]),
    blobs.write(idOf(4), [payload(70, 4)]),
  ])
  await assert.rejects(readAll(blobs, idOf(1), other!), isDamaged)
  await assert.rejects(readAll(blobs, idOf(1), { ...mine!, length: 19 }), isDamaged)
  await assert.rejects(readAll(blobs, idOf(1), { ...mine!, frameBytes: 30 }), isDamaged)
  await assert.rejects(readAll(blobs, idOf(1), { ...mine!, offset: mine!.offset + 1 }), isDamaged)
  await assert.rejects(readAll(blobs, idOf(3), { ...long!, length: 69 }), isDamaged)
  await replace(disk, pathOf(idOf(3), long!), await contentOf(disk, pathOf(idOf(4), longer!)))
  await assert.rejects(readAll(blobs, idOf(3), long!), isDamaged)
  await assert.rejects(readAll(blobs, idOf(3), long!, 0, 0), isDamaged)
  await blobs.close()
})

test('bytes of a damaged frame are not returned, and those of earlier frames are', async () => {
  const { disk, bytes, place: location, path } = await stored('packed')
  const broken = await contentOf(disk, path)
  const second = location.offset + 36 + 44 + 4
  broken[second + 3] = broken[second + 3]! ^ 1
  await replace(disk, path, broken)
  const blobs = await open(disk)
  const got: Buffer[] = []
  await assert.rejects(async () => {
    for await (const part of blobs.read(idOf(1), location, 0, 90)) got.push(part)
  }, isDamaged)
  assert.deepEqual(Buffer.concat(got), bytes.subarray(0, 40))
  assert.deepEqual(await readAll(blobs, idOf(1), location, 80, 90), bytes.subarray(80))
  await blobs.close()
})

test('a scan of a volume ends at its torn tail, wherever it was torn', async () => {
  const disk = new MemoryDisk()
  const blobs = await open(disk)
  // Three batches: two of one record and, in one turn, one of two records; batches start at multiples of 4 KiB.
  const places = [await blobs.write(idOf(0), [payload(100)], 60)]
  places.push(await blobs.write(idOf(1), [payload(5000)]))
  places.push(...(await Promise.all([blobs.write(idOf(2), [payload(10)]), blobs.write(idOf(3), [payload(3000)])])))
  await blobs.close()
  assert.deepEqual(
    places.map(location => location.offset),
    [4096, 8192, 16384, 16384 + 36 + 4 + 10],
  )
  const path = pathOf(idOf(0), places[0]!)
  const original = await contentOf(disk, path)
  const ends = places.map(({ offset, length, frameBytes }) => offset + 36 + length + 4 * Math.ceil(length / frameBytes))
  for (const length of [0, 10, 4096, 4100, ...ends.flatMap(end => [end - 1, end, end + 1]), original.length]) {
    await replace(disk, path, original.subarray(0, length))
    const whole = ends.filter(end => end <= length).length
    assert.equal((await recordsOf(disk, places[0]!.volume!)).length, whole, `cut at ${length}`)
  }
  for (const [number, location] of places.entries()) {
    for (let at = location.offset; at < location.offset + 36; at++) {
      const flipped = Buffer.from(original)
      flipped[at] = flipped[at]! ^ 0x10
      await replace(disk, path, flipped)
      assert.equal((await recordsOf(disk, location.volume!)).length, number, `byte ${at} flipped`)
    }
  }
})

test('a damaged superblock hides no record; a newer format is refused', async () => {
  const { disk, place: location, path } = await stored('packed')
  const original = await contentOf(disk, path)
  const broken = Buffer.from(original)
  broken[9] = broken[9]! ^ 1
  await replace(disk, path, broken)
  assert.equal((await recordsOf(disk, location.volume!)).length, 1)
  const newer = Buffer.from(original)
  newer.writeUInt32BE(2, 4)
  newer.writeUInt32BE(crc32(newer.subarray(0, 24)), 24)
  await replace(disk, path, newer)
  await assert.rejects(recordsOf(disk, location.volume!), /format 2/)
})

test('a packed blob that was read twice is read from memory, where its file cannot be read any more', async () => {
  const { disk, bytes, place: location, path } = await stored('packed')
  const blobs = await open(disk)
  // Opens its volume.
  await readAll(blobs, idOf(1), location)
  for (let read = 0; read < 2; read++) assert.deepEqual(await atOnce(blobs, location), bytes)
  await replace(disk, path, Buffer.alloc((await contentOf(disk, path)).length))
  blobs.closeIdle()
  await assert.rejects(readAll(blobs, idOf(1), location), isDamaged)
  assert.deepEqual(await atOnce(blobs, location), bytes)
  assert.deepEqual(await blobs.readAtOnce(idOf(1), location, 30, 60), bytes.subarray(30, 60))
  // A location that is not the blob's is compared with its file.
  const other = { ...location, length: location.length + 1 }
  await readAll(blobs, idOf(1), other).catch(() => {})
  await assert.rejects(atOnce(blobs, other), isDamaged)
  await blobs.close()
})

test('a part of a blob in memory is a copy, which does not keep all of it there', async () => {
  const { disk, bytes, place: location } = await stored('packed')
  const blobs = await open(disk)
  await readAll(blobs, idOf(1), location)
  for (let read = 0; read < 2; read++) assert.deepEqual(await atOnce(blobs, location), bytes)
  const whole = (await atOnce(blobs, location))!
  const part = (await blobs.readAtOnce(idOf(1), location, 30, 60))!
  assert.deepEqual(part, bytes.subarray(30, 60))
  assert.notEqual(part.buffer, whole.buffer)
  assert.equal((await atOnce(blobs, location))!.buffer, whole.buffer)
  await blobs.close()
})
