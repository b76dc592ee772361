import assert from 'node:assert/strict'
import { createHash, type Hash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Md5, md5Lanes } from './md5-lanes.ts'
import { md5Module } from './md5-module.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

const LANE_BYTES = 256 * 1024
const { WebAssembly: wasm } = globalThis as { WebAssembly?: WasmRuntime }
const lanes = md5Lanes(wasm, md5Module())!

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

const data = new Uint8Array(2 * LANE_BYTES)
for (let at = 0; at < data.length; at++) data[at] = Math.imul(at + 1, 0x9e3779b1) >>> 24

test('the examples of RFC 1321 have the digests it states', () => {
  const examples = {
    '': 'd41d8cd98f00b204e9800998ecf8427e',
    a: '0cc175b9c0f1b6a831c399e269772661',
    abc: '900150983cd24fb0d6963f7d28e17f72',
    'message digest': 'f96b697d7cb7938d525a2f31aaf161d0',
    abcdefghijklmnopqrstuvwxyz: 'c3fcd3d76192e4007dfb496cca67e13b',
  }
  for (const [text, expected] of Object.entries(examples)) {
    const md5 = lanes.start()
    lanes.update([{ md5, bytes: Buffer.from(text) }])
    assert.equal(hex(lanes.digest(md5)), expected)
  }
})

test('every length up to three blocks has the digest that node:crypto computes, alone and beside others', () => {
  for (let length = 0; length <= 192; length++) {
    for (let count = 1; count <= 8; count++) {
      const pieces = Array.from({ length: count }, (_, lane) => {
        const bytes = data.subarray(1001 * lane, 1001 * lane + Math.max(0, length - 7 * lane))
        return { md5: lanes.start(), bytes }
      })
      lanes.update(pieces)
      for (const { md5, bytes } of pieces) {
        assert.equal(hex(lanes.digest(md5)), createHash('md5').update(bytes).digest('hex'))
      }
    }
  }
})

/** One round: pieces of whole blocks for some of eight MD5s, and which of those end with it. */
const piece = fc.record({
  lane: fc.nat(7),
  at: fc.nat(LANE_BYTES),
  blocks: fc.oneof(fc.nat(3), fc.constant(LANE_BYTES / 64), fc.nat(LANE_BYTES / 64)),
  lastBytes: fc.option(fc.nat(63)),
})
const round = fc.uniqueArray(piece, { selector: ({ lane }) => lane, minLength: 1, maxLength: 8 })

test('MD5s that begin and end at different times have the digests that node:crypto computes', () => {
  fc.assert(
    fc.property(fc.array(round, { maxLength: 12 }), rounds => {
      const open: { md5: Md5; hash: Hash }[] = []
      for (const pieces of rounds) {
        const taken = pieces.map(({ lane, at, blocks, lastBytes }) => {
          open[lane] ??= { md5: lanes.start(), hash: createHash('md5') }
          const length = Math.min(LANE_BYTES, 64 * blocks + (lastBytes ?? 0))
          const bytes = data.subarray(at, at + length)
          open[lane].hash.update(bytes)
          return { md5: open[lane].md5, bytes }
        })
        lanes.update(taken)
        for (const { lane, lastBytes } of pieces) {
          if (lastBytes === null) continue
          const { md5, hash } = open[lane]!
          assert.equal(hex(lanes.digest(md5)), hash.digest('hex'))
          delete open[lane]
        }
      }
    }),
    { numRuns: 100 },
  )
})

test('the length in bits may exceed 32 bits', () => {
  const hash = createHash('md5')
  const md5 = lanes.start()
  const bytes = data.subarray(0, LANE_BYTES)
  for (let done = 0; done <= 2 ** 29; done += bytes.length) {
    hash.update(bytes)
    lanes.update([{ md5, bytes }])
  }
  assert.equal(hex(lanes.digest(md5)), hash.digest('hex'))
})

test('bytes after a piece that ended inside a block are refused', () => {
  const md5 = lanes.start()
  lanes.update([{ md5, bytes: data.subarray(0, 65) }])
  assert.throws(() => lanes.update([{ md5, bytes: data.subarray(0, 64) }]), /inside a block/)
})

test('without WebAssembly, or with a module it does not accept, there are no lanes', () => {
  assert.equal(md5Lanes(undefined, md5Module()), undefined)
  assert.equal(md5Lanes(wasm, new Uint8Array(8)), undefined)
})
