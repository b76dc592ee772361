import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SlabPool } from './slab-pool.ts'

const isSame = (a: Buffer, b: Buffer): boolean => a.buffer === b.buffer && a.byteOffset === b.byteOffset

test('what was given back is lent again, also by a part of it, and only once', () => {
  const slabs = new SlabPool(1024)
  const first = slabs.lend(100)
  slabs.giveBack(first.subarray(20, 30))
  const second = slabs.lend(50)
  assert.ok(isSame(first, second))
  const third = slabs.lend(50)
  slabs.giveBack(second)
  slabs.giveBack(second)
  assert.ok(!isSame(slabs.lend(50), third))
})

test('no bytes, bytes of others and pieces that are too large give nothing back', () => {
  const slabs = new SlabPool(1024)
  const first = slabs.lend(8)
  const second = slabs.lend(8)
  // It begins where the second does.
  slabs.giveBack(first.subarray(8))
  slabs.giveBack(Buffer.alloc(8))
  const large = slabs.lend(257)
  assert.equal(large.buffer.byteLength, 257)
  slabs.giveBack(large)
  slabs.giveBack(first)
  assert.ok(!isSame(slabs.lend(8), first))
  slabs.giveBack(second)
})

test('nobody gets bytes that somebody else has', () => {
  const step = fc.record({ length: fc.integer({ min: 1, max: 300 }), back: fc.nat(), gives: fc.boolean() })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 400 }), steps => {
      const slabs = new SlabPool(1024)
      const held: { readonly piece: Buffer; readonly mark: number }[] = []
      for (const [n, { length, back, gives }] of steps.entries()) {
        const mark = n % 251
        held.push({ piece: slabs.lend(length).fill(mark), mark })
        for (const one of held) assert.ok(one.piece.every(byte => byte === one.mark))
        if (!gives) continue
        const [{ piece }] = held.splice(back % held.length, 1) as [(typeof held)[number]]
        slabs.giveBack(piece.subarray(Math.floor(piece.length / 2)))
      }
    }),
  )
})
