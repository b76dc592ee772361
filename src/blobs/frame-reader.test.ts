import assert from 'node:assert/strict'
import { createCipheriv } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { CHUNK_BYTES } from '../lib/buffer-pool.ts'
import type { ReadableFile } from '../lib/disk.ts'
import type { MaybePromise } from '../lib/maybe-promise.ts'
import type { BlobLocation } from './blobs.ts'
import { FrameBuilder } from './frame-builder.ts'
import { readFrames } from './frame-reader.ts'
import { footerOf } from './frames.ts'

const ID = Buffer.alloc(16, 0x5a)
const FRAME = 64 * 1024
const MIB = 2 ** 20

const noise = createCipheriv('aes-128-ctr', Buffer.alloc(16, 7), Buffer.alloc(16)).update(Buffer.alloc(3 * MIB))

interface StoredBlob {
  readonly stored: Buffer
  readonly location: BlobLocation
}

/** A blob in a file of its own, as it is stored. */
function soloBlob(length: number, frameBytes: number): StoredBlob {
  const frames = new FrameBuilder(ID, frameBytes)
  const payload = noise.subarray(0, length)
  for (let at = 0; at < length; ) at = frames.add(payload, at)
  frames.end()
  frames.head('solo')
  const stored = Buffer.concat([...frames.take(), footerOf(ID, length)])
  return { stored, location: { volume: undefined, offset: 0, length, frameBytes } }
}

/** `isCached` decides for each read whether the page cache serves it. */
class FakeFile implements ReadableFile {
  readonly #stored: Buffer
  readonly #isCached: () => boolean
  readonly readsAhead: number
  cachedReads = 0
  threadReads = 0

  constructor(stored: Buffer, isCached: () => boolean, readsAhead = 1) {
    this.#stored = stored
    this.#isCached = isCached
    this.readsAhead = readsAhead
  }

  #fill(into: readonly Uint8Array[], position: number): number {
    let at = position
    for (const piece of into) at += this.#stored.copy(piece, 0, at, at + piece.length)
    return at - position
  }

  async read(into: readonly Uint8Array[], position: number): Promise<number> {
    this.threadReads++
    await new Promise(setImmediate)
    return this.#fill(into, position)
  }

  readCached(into: readonly Uint8Array[], position: number): MaybePromise<number> {
    if (!this.#isCached()) return this.read(into, position)
    this.cachedReads++
    return this.#fill(into, position)
  }

  async size(): Promise<number> {
    return this.#stored.length
  }
}

const framesOf = (file: ReadableFile, location: BlobLocation, range: readonly [number, number]) =>
  readFrames({ open: async () => file, release: () => {} }, ID, location, range)

test('cached chunks are read one at a time, and other work proceeds between them', async () => {
  const { stored, location } = soloBlob(3 * CHUNK_BYTES, FRAME)
  const file = new FakeFile(stored, () => true)
  const chunks = framesOf(file, location, [0, location.length])
  await chunks.next()
  for (const read of [2, 3]) {
    let hasRun = false
    setImmediate(() => {
      hasRun = true
    })
    assert.equal(file.cachedReads, read - 1)
    await chunks.next()
    assert.deepEqual([file.cachedReads, hasRun], [read, true])
  }
  assert.equal((await chunks.next()).done, true)
  assert.equal(file.threadReads, 0)
})

test('after a read that went to a thread, threads read the rest ahead', async () => {
  const { stored, location } = soloBlob(5 * CHUNK_BYTES, FRAME)
  const cached = [true, false, true]
  const file = new FakeFile(stored, () => cached.shift() ?? true)
  const chunks = framesOf(file, location, [0, location.length])
  await chunks.next()
  assert.deepEqual([file.cachedReads, file.threadReads], [1, 0])
  await chunks.next()
  assert.deepEqual([file.cachedReads, file.threadReads], [1, 2])
  await chunks.next()
  assert.deepEqual([file.cachedReads, file.threadReads], [1, 3])
  await chunks.return()
})

test('where a read is a round trip, several are in flight, and all end before the file is released', async () => {
  const { stored, location } = soloBlob(6 * CHUNK_BYTES, FRAME)
  const file = new FakeFile(stored, () => false, 3)
  const source = { open: async () => file, release: () => assert.equal(inFlight, 0) }
  let inFlight = 0
  const read = file.read.bind(file)
  file.read = async (into, position) => {
    inFlight++
    return read(into, position).finally(() => inFlight--)
  }
  const chunks = readFrames(source, ID, location, [0, location.length])
  for (const reads of [4, 5, 6, 6]) {
    await chunks.next()
    assert.equal(file.threadReads, reads)
  }
  await chunks.return()
  const cutOff = readFrames(source, ID, location, [0, location.length])
  await cutOff.next()
  assert(inFlight > 0)
  await cutOff.return()
})

test('a file is released only when its reads have ended, although the header could not be read', async () => {
  const { stored, location } = soloBlob(4 * FRAME, FRAME)
  const events: string[] = []
  const file: ReadableFile = {
    async read(into, position) {
      if (position === 0) throw new Error('the header cannot be read')
      await new Promise(setImmediate)
      events.push('frames read')
      return into.reduce((sum, piece) => sum + piece.length, 0)
    },
    size: async () => stored.length,
  }
  const source = { open: async () => file, release: () => void events.push('released') }
  const chunks = readFrames(source, ID, location, [3 * FRAME, 4 * FRAME])
  await assert.rejects(chunks.next(), /the header cannot be read/)
  assert.deepEqual(events, ['frames read', 'released'])
})

/** Everything that was read, and the error that ended it. */
async function outcome(chunks: AsyncIterable<Buffer>): Promise<{ readonly bytes: Buffer; readonly error: unknown }> {
  const parts: Buffer[] = []
  let error: unknown
  try {
    for await (const chunk of chunks) parts.push(Buffer.from(chunk))
  } catch (caught) {
    error = caught
  }
  return { bytes: Buffer.concat(parts), error }
}

test('bytes and errors do not depend on which reads were cached, nor on how many are in flight', async () => {
  const blob = fc.record({
    length: fc.integer({ min: 1, max: 3 * MIB }),
    frameBytes: fc.constantFrom(1000, FRAME, FRAME + 32, MIB),
    range: fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    flippedAt: fc.option(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }), { nil: undefined }),
    cached: fc.array(fc.boolean(), { maxLength: 12 }),
    readsAhead: fc.integer({ min: 1, max: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(blob, async ({ length, frameBytes, range, flippedAt, cached, readsAhead }) => {
      const { stored, location } = soloBlob(length, frameBytes)
      const [start, end] = range.map(part => Math.round(part * length)).sort((a, b) => a - b) as [number, number]
      if (flippedAt !== undefined) stored[Math.floor(flippedAt * stored.length)]! ^= 1
      const mixed = new FakeFile(stored, () => cached.shift() ?? true, readsAhead)
      const threads = new FakeFile(stored, () => false)
      const got = await outcome(framesOf(mixed, location, [start, end]))
      const expected = await outcome(framesOf(threads, location, [start, end]))
      assert.deepEqual(got.error, expected.error)
      assert(got.bytes.equals(expected.bytes))
      assert(got.bytes.equals(noise.subarray(start, start + got.bytes.length)))
      assert(got.error !== undefined || got.bytes.length === end - start)
    }),
    { numRuns: 100 },
  )
})
