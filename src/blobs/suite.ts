/** The contract of a blob driver as tests. Every driver runs all of it, with its usual sizes. */
import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import { type BlobId, type BlobLocation, type Blobs, DamagedBlob } from './blobs.ts'

interface OpenedBlobs {
  readonly blobs: Blobs
  /** The same blobs in another process, or after a restart. */
  reopen(writer: Buffer): Promise<Blobs>
  destroy(): Promise<void>
}

interface BlobDriver {
  readonly name: string
  /** A new, empty place. */
  open(writer: Buffer): Promise<OpenedBlobs>
}

type SuiteTest = (title: string, body: (opened: OpenedBlobs) => Promise<void>) => void

const WRITER = Buffer.from('0102030405a6', 'hex')
const OTHER_WRITER = Buffer.from('0102030405a7', 'hex')
const MIB = 2 ** 20
const FRAME = 65536
/** Longer blobs are not packed. */
const PACKED_MAX = MIB

export function blobSuite(driver: BlobDriver): void {
  const suiteTest: SuiteTest = (title, body) =>
    void test(`${driver.name}: ${title}`, async () => {
      const opened = await driver.open(WRITER)
      try {
        await body(opened)
      } finally {
        await opened.blobs.close()
        await opened.destroy()
      }
    })
  bytesSuite(suiteTest)
  listingSuite(suiteTest)
  removalSuite(suiteTest)
  failureSuite(suiteTest)
  processSuite(suiteTest)
}

function idOf(number: number, writer = WRITER): BlobId {
  const id = Buffer.alloc(16, 0x5a)
  id.set(writer)
  id.writeUInt32BE(number, 12)
  return id
}

// A key stream: the seeded generator would take a second for as many bytes.
const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(24 * MIB + 4096))
/** Bytes without a period, which start elsewhere for each number. */
const payload = (length: number, number = 0): Buffer => noise.subarray(number, number + length)

async function readAll(
  blobs: Blobs,
  id: BlobId,
  location: BlobLocation,
  [start, end]: readonly [number, number] = [0, location.length],
): Promise<Buffer> {
  const parts: Buffer[] = []
  for await (const part of blobs.read(id, location, start, end)) parts.push(part)
  return Buffer.concat(parts)
}

function* cut(bytes: Buffer, size: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

async function solosOf(blobs: Blobs): Promise<string[]> {
  const ids: string[] = []
  for await (const id of blobs.solos()) ids.push(id.toString('hex'))
  return ids.sort()
}

const isDamaged = (error: unknown): boolean => error instanceof DamagedBlob

function bytesSuite(suiteTest: SuiteTest): void {
  for (const frameBytes of [FRAME, FRAME + 32]) {
    suiteTest(`a body comes back as it was, at every border (frames of ${frameBytes})`, async ({ blobs }) => {
      const borders = [frameBytes, 5 * frameBytes, PACKED_MAX, PACKED_MAX + frameBytes, 4 * MIB, 8 * MIB]
      const lengths = [0, 1, 4096, 4097, ...borders.flatMap(at => [at - 1, at, at + 1])]
      for (const [number, length] of lengths.entries()) {
        const bytes = payload(length, number)
        const location = await blobs.write(idOf(number), [bytes], frameBytes)
        assert.deepEqual([location.length, location.frameBytes], [length, frameBytes])
        const got = await readAll(blobs, idOf(number), location)
        assert(got.equals(bytes), `${length} bytes differ`)
      }
    })
  }

  suiteTest('the bytes do not depend on how the body was cut', async ({ blobs }) => {
    let number = 0
    for (const length of [5000, PACKED_MAX + 1, 9 * MIB + 77]) {
      for (const size of [4097, 700_000, 16 * MIB]) {
        const [id, bytes] = [idOf(number), payload(length, number++)]
        const location = await blobs.write(id, cut(bytes, size))
        assert((await readAll(blobs, id, location)).equals(bytes), `${length} bytes in pieces of ${size} differ`)
      }
    }
  })

  suiteTest('a range read returns what slicing would, across stripes and chunks', async ({ blobs }) => {
    for (const [number, length] of [5000, 300_000, 8 * MIB + 13_077].entries()) {
      const [id, bytes] = [idOf(number), payload(length, number)]
      const location = await blobs.write(id, [bytes])
      const ends = [0, 1, FRAME - 1, FRAME, FRAME + 1, 4 * MIB - 1, 4 * MIB + 4096, 8 * MIB + 9000, length - 1, length]
      for (const start of ends.filter(end => end <= length)) {
        for (const end of ends.filter(other => other >= start && other <= length)) {
          const wanted = bytes.subarray(start, end)
          const got = await readAll(blobs, id, location, [start, end])
          assert(got.equals(wanted), `[${start}, ${end}) of ${length} bytes differ`)
          const atOnce = await blobs.readAtOnce(id, location, start, end)
          assert(atOnce === undefined || atOnce.equals(wanted), `[${start}, ${end}) at once differ`)
        }
      }
      assert.throws(() => blobs.read(id, location, 1, length + 1), /not within/)
    }
  })

  suiteTest('writes at the same time do not disturb one another', async ({ blobs }) => {
    const lengths = Array.from({ length: 300 }, (_, n) => (n % 60 === 0 ? 2 * MIB + n : 17 * n))
    const locations = await Promise.all(lengths.map((length, n) => blobs.write(idOf(n), [payload(length, n)])))
    const reads = await Promise.all(locations.map((location, n) => readAll(blobs, idOf(n), location)))
    for (const [n, got] of reads.entries()) assert(got.equals(payload(lengths[n]!, n)), `blob ${n} differs`)
  })
}

function listingSuite(suiteTest: SuiteTest): void {
  suiteTest('volumes, entries and solos list what was written', async ({ blobs }) => {
    const packed = new Map<string, string>()
    const solos: string[] = []
    for (let round = 0; round < 3; round++) {
      await Promise.all(
        [0, 1, 17, 4096, 200_000, PACKED_MAX, PACKED_MAX + 1, 5 * MIB].map(async (length, n) => {
          const id = idOf(round * 100 + n)
          const location = await blobs.write(id, [payload(length)], 50_000)
          if (location.volume === undefined) solos.push(id.toString('hex'))
          else packed.set(id.toString('hex'), JSON.stringify(location))
        }),
      )
      if (round === 1) await blobs.closeVolume()
    }
    const states = await blobs.volumes()
    assert(states.length > 1, 'a volume that was closed takes no more blobs')
    const walked = new Map<string, string>()
    for (const { name, bytes, writer } of states) {
      assert.deepEqual(writer, WRITER)
      for await (const { id, location } of blobs.entries(name)) {
        assert(location.offset + location.length <= bytes, `${name} has ${bytes} bytes`)
        walked.set(id.toString('hex'), JSON.stringify(location))
      }
    }
    assert.deepEqual(walked, packed)
    assert.deepEqual(await solosOf(blobs), solos.sort())
  })

  suiteTest('thousands of blobs are listed completely', async ({ blobs }) => {
    const ids = Array.from({ length: 2500 }, (_, n) => idOf(n))
    await Promise.all(ids.map(id => blobs.write(id, [payload(100)])))
    const found = new Set<string>()
    for (const { name } of await blobs.volumes()) {
      for await (const { id } of blobs.entries(name)) found.add(id.toString('hex'))
    }
    assert.equal(found.size, ids.length)
  })

  suiteTest('an engine that reports its space has some', async ({ blobs }) => {
    const space = await blobs.capacity?.()
    if (space !== undefined) assert(space.freeBytes > 0 && space.totalBytes >= space.freeBytes, JSON.stringify(space))
    await blobs.ensureSpace(0)
  })
}

function removalSuite(suiteTest: SuiteTest): void {
  suiteTest('a removed long blob is gone as a whole, and removing it again is no error', async ({ blobs }) => {
    for (const length of [PACKED_MAX + 1, 4 * MIB, 21 * MIB]) {
      const location = await blobs.write(idOf(length), [payload(length)])
      assert.equal(location.volume, undefined)
      await blobs.remove(idOf(length), location)
      await assert.rejects(readAll(blobs, idOf(length), location), isDamaged)
      await assert.rejects(readAll(blobs, idOf(length), location, [length - 1, length]), isDamaged)
      await blobs.remove(idOf(length), location)
    }
    assert.deepEqual(await solosOf(blobs), [])
  })

  suiteTest('a volume is removed once it is closed, and no other one with it', async ({ blobs }) => {
    const first = await blobs.write(idOf(1), [payload(10)])
    const again = await blobs.write(idOf(2), [payload(PACKED_MAX)])
    // Not every driver appends to volumes, but an open one must not be removed.
    const open = (await blobs.volumes()).find(volume => volume.open)
    if (open !== undefined) await assert.rejects(blobs.removeVolume(open.name), /still being written/)
    await blobs.closeVolume()
    const next = await blobs.write(idOf(3), [payload(30)])
    assert.notEqual(next.volume, first.volume)
    for (const volume of new Set([first.volume!, again.volume!])) await blobs.removeVolume(volume)
    const names = (await blobs.volumes()).map(({ name }) => name)
    assert.deepEqual(names, [next.volume])
    await assert.rejects(readAll(blobs, idOf(1), first), isDamaged)
    assert.deepEqual(await readAll(blobs, idOf(3), next), payload(30))
    await assert.rejects(blobs.removeVolume('../solo'), /not a volume/)
    await assert.rejects(readAll(blobs, idOf(1), { ...first, volume: '../../secret' }), /not a volume/)
  })
}

function failureSuite(suiteTest: SuiteTest): void {
  suiteTest('a body that throws leaves nothing behind, early or late', async ({ blobs }) => {
    for (const length of [0, 300_000, 3 * MIB, 10 * MIB]) {
      async function* broken(): AsyncGenerator<Buffer> {
        yield* cut(payload(length), 100_000)
        throw new Error('the client went away')
      }
      await assert.rejects(blobs.write(idOf(length), broken()), /went away/)
    }
    assert.deepEqual(await solosOf(blobs), [])
    for (const { name } of await blobs.volumes()) {
      for await (const { id } of blobs.entries(name)) assert.fail(`${name} has ${id.toString('hex')}`)
    }
  })

  suiteTest('a second body for the same id leaves the first intact', async ({ blobs }) => {
    const bytes = payload(3 * MIB)
    const location = await blobs.write(idOf(1), [bytes])
    await assert.rejects(blobs.write(idOf(1), [payload(5 * MIB, 1)]))
    assert((await readAll(blobs, idOf(1), location)).equals(bytes))
  })

  suiteTest('a blob replaced by another one is detected', async ({ blobs }) => {
    const [mine, other] = await Promise.all([
      blobs.write(idOf(1), [payload(900)]),
      blobs.write(idOf(2), [payload(900)]),
    ])
    const long = await blobs.write(idOf(3), [payload(2 * MIB)])
    await assert.rejects(readAll(blobs, idOf(1), other), isDamaged)
    await assert.rejects(readAll(blobs, idOf(1), { ...mine, length: 899 }), isDamaged)
    await assert.rejects(readAll(blobs, idOf(1), { ...mine, offset: mine.offset + 1 }), isDamaged)
    await assert.rejects(readAll(blobs, idOf(3), { ...long, length: 2 * MIB - 1 }), isDamaged)
    await assert.rejects(readAll(blobs, idOf(4), long), isDamaged)
  })

  suiteTest('a reader may stop early, and closed blobs refuse writes', async ({ blobs }) => {
    const location = await blobs.write(idOf(1), [payload(9 * MIB)])
    for await (const part of blobs.read(idOf(1), location, 0, location.length)) {
      assert(part.length > 0)
      break
    }
    await blobs.close()
    await assert.rejects(blobs.write(idOf(2), [payload(1)]), /closed/)
  })
}

function processSuite(suiteTest: SuiteTest): void {
  suiteTest('another process reads and lists at once what was acknowledged', async ({ blobs, reopen }) => {
    const other = await reopen(OTHER_WRITER)
    try {
      for (const [n, length] of [1, 5000, PACKED_MAX, 6 * MIB, 20, 30].entries()) {
        const location = await blobs.write(idOf(n), [payload(length, n)])
        assert((await readAll(other, idOf(n), location)).equals(payload(length, n)), `${length} bytes differ`)
      }
      const own = await other.write(idOf(1, OTHER_WRITER), [payload(77)])
      assert.deepEqual(await readAll(blobs, idOf(1, OTHER_WRITER), own), payload(77))
      assert.deepEqual(await solosOf(other), [idOf(3).toString('hex')])
      const open = (await other.volumes()).filter(volume => volume.open)
      assert(
        open.every(volume => volume.writer.equals(OTHER_WRITER)),
        'a volume of another process counts as open',
      )
      await blobs.closeVolume()
      const first = (await other.volumes()).find(({ writer }) => writer.equals(WRITER))!
      await other.removeVolume(first.name)
      await assert.rejects(readAll(other, idOf(0), { ...own, volume: first.name }), isDamaged)
    } finally {
      await other.close()
    }
  })

  suiteTest('acknowledged blobs are there after a restart', async ({ blobs, reopen }) => {
    const lengths = [0, 1, 70_000, 3 * MIB, 12 * MIB]
    const locations = await Promise.all(lengths.map((length, n) => blobs.write(idOf(n), [payload(length, n)])))
    await blobs.close()
    const again = await reopen(OTHER_WRITER)
    try {
      for (const [n, location] of locations.entries()) {
        assert((await readAll(again, idOf(n), location)).equals(payload(lengths[n]!, n)), `blob ${n} differs`)
      }
      assert.deepEqual(await solosOf(again), [3, 4].map(n => idOf(n).toString('hex')).sort())
    } finally {
      await again.close()
    }
  })
}
