import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Sha256Lanes } from '../digest/sha256-lanes.ts'
import type { WasmRuntime } from '../digest/wasm-assembler.ts'
import { systemClock } from '../lib/clock.ts'
import { Fault } from '../model/faults.ts'
import { ChunkHashes } from './chunk-hashes.ts'
import { decodeChunks } from './chunked-body.ts'
import { SCHEMES } from './signing.ts'
import { ruleFor, type SentChunks, streamOf, wire } from './suite-chunks.ts'

const KIB = 1024
const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: WasmRuntime }

/** Counts the groups of four, and the pieces of their chunks. */
class CountingLanes extends Sha256Lanes {
  groups = 0
  piecesMost = 0

  override hash(messages: readonly (readonly Uint8Array[])[], bytes: number): string[] {
    this.groups++
    this.piecesMost = Math.max(...messages.map(pieces => pieces.length))
    return super.hash(messages, bytes)
  }
}

const lanes = new CountingLanes(wasm)
const noise = randomBytes(512 * KIB)

function chunksOf(sizes: readonly number[]): SentChunks {
  return { scheme: SCHEMES.s3, signed: true, data: sizes.map((size, at) => noise.subarray(at, at + size)) }
}

/** The data that comes out, or the code of the fault that ends it. */
async function decoded(sent: SentChunks, pieces: readonly Buffer[], hashes: ChunkHashes): Promise<Buffer | string> {
  const out: Buffer[] = []
  try {
    for await (const piece of decodeChunks(streamOf(...pieces), ruleFor(sent), hashes)) out.push(piece)
  } catch (error) {
    if (error instanceof Fault) return error.code
    throw error
  }
  return Buffer.concat(out)
}

const activeTimers = (): number => process.getActiveResourcesInfo().filter(kind => kind === 'Timeout').length

const inPieces = (bytes: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size))

async function groupsOf(sizes: readonly number[], pieceBytes = 64 * KIB): Promise<number> {
  const sent = chunksOf(sizes)
  lanes.groups = 0
  const data = await decoded(sent, inPieces(wire(sent), pieceBytes), new ChunkHashes(() => lanes))
  assert.deepEqual(data, Buffer.concat(sent.data))
  return lanes.groups
}

test('four chunks of equal size that follow each other are hashed together', async () => {
  const many = (size: number, count: number): number[] => Array<number>(count).fill(size)
  assert.equal(await groupsOf(many(64 * KIB, 4)), 1)
  assert.equal(await groupsOf(many(64 * KIB, 16)), 4)
  assert.equal(await groupsOf(many(64 * KIB, 16), 1000), 4, 'in small pieces')
  assert.equal(await groupsOf(many(64 * KIB, 16), 10 ** 7), 4, 'in one piece')
  assert.equal(await groupsOf([...many(128 * KIB, 7), 5]), 1)
  assert.equal(await groupsOf([8 * KIB, ...many(16 * KIB, 4)]), 1)
})

test('other chunks are not', async () => {
  assert.equal(await groupsOf([64 * KIB, 64 * KIB, 64 * KIB]), 0, 'fewer than four')
  assert.equal(await groupsOf([KIB, KIB, KIB, KIB, KIB]), 0, 'small')
  assert.equal(await groupsOf([9, 8, 7, 6].map(n => n * 10 * KIB)), 0, 'of different sizes')
  assert.equal(await groupsOf(Array<number>(5).fill(200 * KIB)), 0, 'large')
  assert.equal(await groupsOf([16, 16, 16, 17, 16, 16, 16].map(n => n * KIB)), 0, 'interrupted')
  assert.equal(await groupsOf([64, 300, 64, 64, 64].map(n => n * KIB)), 0, 'interrupted by a large one')
})

test('A8: a bad signature is noticed before much more is read, also where chunks wait for others', async () => {
  for (const following of [64, 100, 300]) {
    const sent = chunksOf([64 * KIB, ...Array<number>(30).fill(following * KIB)])
    const bytes = wire(sent)
    bytes[1000] = bytes[1000]! ^ 0x01
    let taken = 0
    async function* counted(): AsyncGenerator<Buffer, void> {
      for (const piece of inPieces(bytes, 10_000)) {
        taken += piece.length
        yield piece
      }
    }
    const reading = async (): Promise<void> => {
      for await (const _ of decodeChunks(counted(), ruleFor(sent), new ChunkHashes(() => lanes)));
    }
    await assert.rejects(reading, { code: 'SignatureDoesNotMatch' })
    assert.ok(taken < 4 * 64 * KIB + 30_000, `${taken} bytes`)
  }
})

test('G4: chunks of a client that pauses are checked meanwhile, and the rest is hashed together again', async () => {
  const sent = chunksOf(Array<number>(12).fill(64 * KIB))
  const bodyFrom = async (bytes: Buffer, pauseAt: number, pause: () => Promise<unknown>): Promise<Buffer> => {
    async function* pausing(): AsyncGenerator<Buffer, void> {
      yield bytes.subarray(0, pauseAt)
      await pause()
      yield* inPieces(bytes.subarray(pauseAt), 20 * KIB)
    }
    const out: Buffer[] = []
    for await (const piece of decodeChunks(pausing(), ruleFor(sent), new ChunkHashes(() => lanes))) out.push(piece)
    return Buffer.concat(out)
  }
  // Within the second, third and fourth chunk, and between two: a group that has been ended never goes on.
  for (const pauseAt of [100, 150, 200, 240, 256.3].map(kib => Math.floor(kib * KIB))) {
    lanes.groups = 0
    const data = await bodyFrom(wire(sent), pauseAt, () => systemClock.sleep(200))
    assert.deepEqual(data, Buffer.concat(sent.data))
    assert.equal(lanes.groups, 2, `paused at ${pauseAt}`)

    const damaged = wire(sent)
    damaged[1000] = damaged[1000]! ^ 0x01
    await assert.rejects(
      bodyFrom(damaged, pauseAt, () => new Promise(() => {})),
      { code: 'SignatureDoesNotMatch' },
    )
  }
})

test('G4: a body that is refused while its client pauses is given up, and no timer outlives a body', async () => {
  const sent = chunksOf(Array<number>(8).fill(64 * KIB))
  const bytes = wire(sent)
  const timersBefore = activeTimers()
  await decoded(sent, inPieces(bytes, 50 * KIB), new ChunkHashes(() => lanes))
  assert.equal(activeTimers(), timersBefore)
  bytes[1000] = bytes[1000]! ^ 0x01
  let given = 0
  let returned = 0
  const body: AsyncIterable<Buffer> = {
    [Symbol.asyncIterator]: () => ({
      next: () =>
        given++ === 0 ? Promise.resolve({ done: false, value: bytes.subarray(0, 100 * KIB) }) : new Promise(() => {}),
      return: async () => {
        returned++
        return { done: true, value: undefined }
      },
    }),
  }
  const reading = async (): Promise<void> => {
    for await (const _ of decodeChunks(body, ruleFor(sent), new ChunkHashes(() => lanes)));
  }
  await assert.rejects(reading, { code: 'SignatureDoesNotMatch' })
  assert.equal(returned, 1)
})

test('a chunk that comes byte by byte does not take memory for every byte', async () => {
  const sent = chunksOf(Array<number>(4).fill(16 * KIB))
  lanes.groups = 0
  const data = await decoded(sent, inPieces(wire(sent), 1), new ChunkHashes(() => lanes))
  assert.deepEqual(data, Buffer.concat(sent.data))
  assert.equal(lanes.groups, 1)
  assert.ok(lanes.piecesMost <= 17, `${lanes.piecesMost} pieces`)
})

test('without lanes all chunks are hashed alone', async () => {
  const sent = chunksOf(Array<number>(9).fill(64 * KIB))
  const data = await decoded(sent, inPieces(wire(sent), 50_000), new ChunkHashes(() => undefined))
  assert.deepEqual(data, Buffer.concat(sent.data))
})

const size = fc.constantFrom(1, 4 * KIB, 8 * KIB, 8 * KIB, 16 * KIB, 16 * KIB + 1, 300 * KIB)
const sizes = fc
  .array(fc.tuple(size, fc.integer({ min: 1, max: 6 })), { minLength: 1, maxLength: 4 })
  .map(runs => runs.flatMap(([bytes, count]) => Array<number>(bytes > 256 * KIB ? 1 : count).fill(bytes)))

/** Each changes a byte, or ends the body early. */
const damage = fc.record({
  kind: fc.constantFrom('flip', 'cut'),
  at: fc.double({ min: 0, max: 0.9999999, noNaN: true }),
})
const damages = fc.uniqueArray(damage, { maxLength: 2, selector: ({ kind }) => kind })

test('A8 A9 A10: a body ends as it does with chunks that are hashed one by one, damaged or not', async () => {
  await fc.assert(
    fc.asyncProperty(sizes, damages, fc.integer({ min: 500, max: 200_000 }), async (of, hows, pieceBytes) => {
      const sent = chunksOf(of)
      let bytes = wire(sent)
      for (const { kind, at } of hows) {
        const place = Math.floor(at * bytes.length)
        if (kind === 'cut') bytes = bytes.subarray(0, place)
        else bytes[place] = bytes[place]! ^ 0x01
      }
      const pieces = inPieces(bytes, pieceBytes)
      const expected = await decoded(sent, pieces, new ChunkHashes(() => undefined))
      assert.deepEqual(await decoded(sent, pieces, new ChunkHashes(() => lanes)), expected)
      assert.equal(typeof expected, hows.length === 0 ? 'object' : 'string')
    }),
    { numRuns: 150 },
  )
})

test('bodies that are given up leave room for others to wait', async () => {
  const sent = chunksOf(Array<number>(4).fill(128 * KIB))
  // A group has begun, and reserves room for chunks whose headers never come.
  const start = wire(sent).subarray(0, 100 * KIB)
  for (let body = 0; body < 200; body++) {
    for await (const _ of decodeChunks(streamOf(start), ruleFor(sent), new ChunkHashes(() => lanes))) break
  }
  assert.equal(await groupsOf(Array<number>(4).fill(128 * KIB)), 1)
})

test('data that waits is limited: beyond that, chunks are hashed at once', async () => {
  const sent = chunksOf(Array<number>(4).fill(128 * KIB))
  const bytes = wire(sent)
  for (const begun of [1, 3]) {
    // All bodies go on at the same pace.
    const bodies = Array.from({ length: 50 }, () => {
      const pieces = inPieces(bytes.subarray(0, begun * 128 * KIB), 100 * KIB)
      return decodeChunks(streamOf(...pieces), ruleFor(sent), new ChunkHashes(() => lanes)).reader()
    })
    for (let taken = 0; taken < begun; taken++) for (const body of bodies) await body.read()
    assert.equal(await groupsOf(Array<number>(4).fill(128 * KIB)), 0)
    for (const body of bodies) await body.cancel()
    assert.equal(await groupsOf(Array<number>(4).fill(128 * KIB)), 1)
  }
})
