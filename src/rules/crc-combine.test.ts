import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { digestOf } from './checksum.ts'
import { type CrcName, type CrcPiece, combineCrcs, crcPower } from './crc-combine.ts'

const NAMES: readonly CrcName[] = ['CRC32', 'CRC32C', 'CRC64NVME']

test('G18: the check constants', () => {
  const power = (name: CrcName, bytes: number): string => crcPower(name, bytes).toString('hex')
  assert.equal(power('CRC32', 5), '3b83984b')
  assert.equal(power('CRC32C', 5), 'fbc3faf9')
  assert.equal(power('CRC64NVME', 5), '0000000000800000')
  assert.equal(power('CRC32', 5 * 2 ** 20), '7ad256cc')
  assert.equal(power('CRC32C', 5 * 2 ** 20), '11b31f9d')
  assert.equal(power('CRC64NVME', 5 * 2 ** 20), 'e852c6e487ad204d')
  assert.equal(power('CRC32', 0), '80000000')
})

test('G18: parts of 5 MiB from their recorded checksums, without their bytes', () => {
  const rows: readonly (readonly [CrcName, readonly string[], string])[] = [
    ['CRC32', ['JRTCyQ==', 'QoZTGg==', 'YAgjqw=='], 'WgDhBQ=='],
    ['CRC32C', ['MDaLrw==', 'TH4EZg==', 'Z7mBIQ=='], 'xU+Krw=='],
    ['CRC64NVME', ['L/E4WYn8v98=', 'xW1l19VobYM=', 'cK5MnNaWrW4='], 'i+6LR0y3eFo='],
  ]
  for (const [name, parts, whole] of rows) {
    const pieces = parts.map(part => ({ digest: Buffer.from(part, 'base64'), size: 5 * 2 ** 20 }))
    assert.equal(combineCrcs(name, pieces).toString('base64'), whole)
  }
})

test('any bytes, split anywhere, combine to the CRC of the whole', () => {
  for (const name of NAMES) {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3000 }), fc.array(fc.nat(3000), { maxLength: 6 }), (bytes, cuts) => {
        const borders = [0, ...cuts.filter(cut => cut <= bytes.length).sort((a, b) => a - b), bytes.length]
        const pieces = borders.slice(1).map((end, index) => {
          const piece = bytes.subarray(borders[index], end)
          return { digest: digestOf(name, piece), size: piece.length }
        })
        assert.deepEqual(combineCrcs(name, pieces), digestOf(name, bytes))
      }),
    )
  }
})

test('powers add up: pieces too large to hold, up to 5 GiB', () => {
  for (const name of NAMES) {
    fc.assert(
      fc.property(fc.nat(5 * 2 ** 30), fc.nat(5 * 2 ** 30), (a, b) => {
        // A piece with CRC 0 adds no bits of its own, so the result is the power alone.
        const zero = Buffer.alloc(crcPower(name, 0).length)
        const first = { digest: crcPower(name, 0), size: 0 }
        const twice = combineCrcs(name, [first, { digest: zero, size: a }, { digest: zero, size: b }])
        assert.deepEqual(twice, crcPower(name, a + b))
      }),
      { numRuns: 50 },
    )
  }
})

test('a digest of the wrong length is an internal error', () => {
  assert.throws(() => combineCrcs('CRC32', [{ digest: Buffer.alloc(8), size: 1 }]), RangeError)
  assert.throws(() => combineCrcs('CRC64NVME', [{ digest: Buffer.alloc(4), size: 1 }]), RangeError)
})

const partsOf = (sizeOf: (part: number) => number): CrcPiece[] =>
  Array.from({ length: 10_000 }, (_, part) => ({ digest: Buffer.alloc(8, part), size: sizeOf(part) }))

/** Processor time, in µs. */
function costOf(pieces: readonly CrcPiece[]): number {
  const before = process.cpuUsage()
  combineCrcs('CRC64NVME', pieces)
  return process.cpuUsage(before).user
}

test('10,000 parts of 10,000 sizes cost only a few times as much as 10,000 of one size', () => {
  const different = partsOf(part => 5 * 2 ** 20 + part * 1009)
  const equal = partsOf(() => 5 * 2 ** 20 + 1009)
  // Alternating, and the minimum of each: other load on the machine only adds time.
  const rounds = Array.from({ length: 8 }, () => [costOf(different), costOf(equal)] as const)
  const [many, one] = [0, 1].map(which => Math.min(...rounds.map(round => round[which]!))) as [number, number]
  // Three multiplications instead of one; computing every power again would take more than thirty.
  assert(many < 20 * one, `${many} µs and ${one} µs`)
})
