import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { Md5Batcher } from './md5-batcher.ts'
import { md5In } from './md5-in-memory.ts'
import { type Md5Lanes, md5Lanes } from './md5-lanes.ts'
import type { Md5Exports } from './md5-module.ts'
import { BLOCK_BYTES, SharedBlocks } from './shared-blocks.ts'
import { wasm } from './wasm.ts'

const bytesOf = (seed: number, length: number): Buffer => {
  const bytes = Buffer.alloc(length)
  for (let at = 0; at < length; at++) bytes[at] = Math.imul(at + seed, 0x9e3779b1) >>> 24
  return bytes
}

const md5 = (bytes: Buffer): string => createHash('md5').update(bytes).digest('hex')

const blocks = new SharedBlocks()
/** How many were computed at a time. */
const groups: number[] = []
const counting = (): Md5Lanes => {
  const { module, memory, area } = md5In(blocks.memory, 'loop')!
  const run = new wasm!.Instance(module, { outside: { memory } }).exports as Md5Exports
  const lanes = md5Lanes(run, new Uint8Array(blocks.memory.buffer), area)
  return { ...lanes, update: given => groups.push(given.length) && lanes.update(given) }
}
const together = new Md5Batcher(blocks, counting)

const digestsOf = async (of: Md5Batcher, bodies: readonly Buffer[], pieceBytes = BLOCK_BYTES) => {
  const digests = await Promise.all(
    bodies.map(body => {
      const pieces = []
      for (let at = 0; at < body.length; at += pieceBytes) pieces.push(body.subarray(at, at + pieceBytes))
      return of.digest(pieces, body.length)
    }),
  )
  return digests.map(digest => digest.toString('hex'))
}

test('MD5s that are asked for at the same time are computed four at a time, each its own', async () => {
  const bodies = Array.from({ length: 10 }, (_, seed) => bytesOf(seed, 20_000 + seed))
  groups.length = 0
  assert.deepEqual(await digestsOf(together, bodies), bodies.map(md5))
  assert.deepEqual(groups, [4, 4, 2])
})

test('one that is asked for alone is computed alone', async () => {
  groups.length = 0
  assert.deepEqual(await digestsOf(together, [bytesOf(1, 30_000)]), [md5(bytesOf(1, 30_000))])
  assert.deepEqual(groups, [])
})

test('whatever their lengths and pieces are, each gets the digest of its bytes, and no block is kept', async () => {
  const free = blocks.freeCount
  const shape = fc.record({
    lengths: fc.array(fc.integer({ min: 1, max: BLOCK_BYTES - 1 }), { minLength: 1, maxLength: 9 }),
    pieceBytes: fc.integer({ min: 500, max: BLOCK_BYTES }),
  })
  await fc.assert(
    fc.asyncProperty(shape, async ({ lengths, pieceBytes }) => {
      const bodies = lengths.map((length, seed) => bytesOf(seed * 1000, length))
      assert.deepEqual(await digestsOf(together, bodies, pieceBytes), bodies.map(md5))
    }),
    { numRuns: 30 },
  )
  assert.equal(blocks.freeCount, free)
})

test('where there is no module, or no block is left, they are computed one by one', async () => {
  const bodies = [1, 2, 3].map(seed => bytesOf(seed, 20_000))
  assert.deepEqual(await digestsOf(new Md5Batcher(blocks, () => undefined), bodies), bodies.map(md5))
  const full = new SharedBlocks()
  while (full.freeCount > 2) full.take()
  assert.deepEqual(await digestsOf(new Md5Batcher(full), bodies), bodies.map(md5))
  assert.equal(full.freeCount, 2)
})

test('a module that fails fails its digests, and nothing else', async () => {
  const failing = (): Md5Lanes => ({
    ...counting(),
    update() {
      throw new Error('out of order')
    },
  })
  const broken = new Md5Batcher(blocks, failing)
  const free = blocks.freeCount
  await assert.rejects(digestsOf(broken, [bytesOf(1, 20_000), bytesOf(2, 20_000)]), /out of order/)
  assert.equal(blocks.freeCount, free)
  assert.deepEqual(await digestsOf(broken, [bytesOf(1, 20_000)]), [md5(bytesOf(1, 20_000))])
})
