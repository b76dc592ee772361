import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BLOCK_BYTES, BodyBlocks, SharedBlocks } from './shared-blocks.ts'

const RESERVED = 16

const block = (value: number): Buffer => Buffer.alloc(BLOCK_BYTES, value)

test('a block is used again when its body has given back every byte and no thread holds it, and not before', () => {
  const blocks = new SharedBlocks()
  const all = blocks.freeCount
  const body = new BodyBlocks(blocks)
  body.fill(block(1))
  const bytes = body.take()
  assert.ok(bytes.equals(block(1)))
  const number = blocks.blockOf(bytes)!
  blocks.hold(number)
  blocks.giveBack(bytes.subarray(0, 100))
  blocks.giveBack(bytes.subarray(100, 101))
  blocks.release(number)
  assert.equal(blocks.freeCount, all - 1, 'there are bytes that may still be looked at')
  blocks.hold(number)
  blocks.giveBack(bytes, BLOCK_BYTES - 101)
  assert.equal(blocks.freeCount, all - 1, 'a thread has it to hash')
  blocks.release(number)
  assert.equal(blocks.freeCount, all)
  assert.equal(blocks.take(), number, 'the one that was used last is used next')
})

test('what is given back twice, or held when it is free, is a mistake that does not pass', () => {
  const blocks = new SharedBlocks()
  const body = new BodyBlocks(blocks)
  body.fill(block(1))
  const bytes = body.take()
  blocks.giveBack(bytes)
  assert.throws(() => blocks.giveBack(bytes), /more was given back than was lent/)
  assert.throws(() => blocks.hold(0), /nobody may hold what is free/)
  assert.throws(() => blocks.release(0), /a block is free already/)
})

test('bytes that lie elsewhere are none of its business', () => {
  const blocks = new SharedBlocks()
  assert.equal(blocks.blockOf(block(1)), undefined)
  blocks.giveBack(block(1))
})

test('bodies get no block that is kept for threads, and a loan that ends leaves all of its blocks', () => {
  const blocks = new SharedBlocks()
  const all = blocks.freeCount
  const [greedy, other] = [new BodyBlocks(blocks), new BodyBlocks(blocks)]
  let lent = 0
  for (; greedy.fill(block(lent)) > 0; lent++) greedy.take()
  assert.equal(lent, all - RESERVED)
  assert.equal(other.fill(block(0)), 0)
  for (let n = 0; n < RESERVED; n++) blocks.take()
  greedy.end()
  assert.equal(blocks.freeCount, lent)
  assert.equal(other.fill(block(0).subarray(1)), BLOCK_BYTES - 1)
  other.end()
  assert.equal(blocks.freeCount, lent, 'also one that is not full')
})

test('a body comes out of its blocks as it went in, however it is cut and whenever it is taken', () =>
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 2 * BLOCK_BYTES }), fc.boolean()), { maxLength: 12 }),
      cuts => {
        const blocks = new SharedBlocks()
        const all = blocks.freeCount
        const body = new BodyBlocks(blocks)
        const [sent, got]: [Buffer[], Buffer[]] = [[], []]
        const take = (): void => {
          const bytes = body.take()
          got.push(Buffer.from(bytes))
          blocks.giveBack(bytes)
        }
        for (const [n, [length, isTaken]] of cuts.entries()) {
          const chunk = Buffer.alloc(length, n + 1)
          sent.push(chunk)
          for (let at = 0; at < length; ) {
            at += body.fill(chunk.subarray(at))
            if (body.isFull) take()
          }
          if (isTaken && !body.isEmpty) take()
        }
        if (!body.isEmpty) take()
        assert.ok(Buffer.concat(got).equals(Buffer.concat(sent)))
        body.end()
        assert.equal(blocks.freeCount, all)
      },
    ),
    { numRuns: 50 },
  ))
