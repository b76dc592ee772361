import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { LANE_BYTES_MAX, Sha256Lanes } from './sha256-lanes.ts'
import type { WasmRuntime } from './wasm-assembler.ts'

const { WebAssembly: wasm } = globalThis as unknown as { WebAssembly: WasmRuntime }
const lanes = new Sha256Lanes(wasm)

const data = Buffer.alloc(LANE_BYTES_MAX + 4 * 1001)
for (let at = 0; at < data.length; at++) data[at] = Math.imul(at + 1, 0x9e3779b1) >>> 24

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const fourOf = (length: number): Buffer[] => [0, 1, 2, 3].map(lane => data.subarray(1001 * lane, 1001 * lane + length))

test('the example of FIPS 180-4 has the digest that it states, in every lane', () => {
  const abc = [Buffer.from('abc')]
  const expected = 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'
  assert.deepEqual(lanes.hash([abc, abc, abc, abc], 3), [expected, expected, expected, expected])
})

test('every length up to three blocks, and the longest, has the digests that node:crypto computes', () => {
  for (const length of [...Array(193).keys(), LANE_BYTES_MAX - 1, LANE_BYTES_MAX]) {
    const messages = fourOf(length)
    assert.deepEqual(
      lanes.hash(
        messages.map(message => [message]),
        length,
      ),
      messages.map(sha256),
      String(length),
    )
  }
})

test('messages in pieces of any size have the digests that node:crypto computes', () => {
  const cuts = fc.array(fc.nat(LANE_BYTES_MAX), { maxLength: 5 })
  fc.assert(
    fc.property(fc.nat(LANE_BYTES_MAX), fc.tuple(cuts, cuts, cuts, cuts), (length, places) => {
      const messages = fourOf(length)
      const inPieces = messages.map((message, lane) => {
        const ends = [...places[lane]!.map(place => Math.min(place, length)), length].sort((a, b) => a - b)
        return ends.map((end, index) => message.subarray(ends[index - 1] ?? 0, end))
      })
      assert.deepEqual(lanes.hash(inPieces, length), messages.map(sha256))
    }),
    { numRuns: 60 },
  )
})

test('messages that do not fit are refused', () => {
  const message = [data.subarray(0, 100)]
  assert.throws(() => lanes.hash([message, message, message], 100))
  assert.throws(() => lanes.hash([message, message, message, message], 99))
  assert.throws(() => lanes.hash([message, message, message, message], 101))
  assert.throws(() => lanes.hash([[data], [data], [data], [data]], data.length))
})
