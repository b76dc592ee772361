/**
 * G18. Combines the CRCs of adjacent pieces into the CRC of the whole without reading a byte again. A CRC is a
 * polynomial modulo P, and appending n bytes multiplies it by x^(8n). This holds for the final values as they are,
 * since these CRCs start from and are inverted with all ones. Bits are reversed: the highest bit is x^0.
 */

export type CrcName = 'CRC32' | 'CRC32C' | 'CRC64NVME'

/** Two 32-bit halves. A 32-bit CRC uses only the high half, so that x^0 is always the highest bit. */
interface Polynomial {
  readonly high: number
  readonly low: number
}

interface Field {
  readonly digestBytes: 4 | 8
  readonly modulus: Polynomial
  /** `powers[i][d]` is x^(8·d·256^i): the product of one entry per row gives any power. Filled on demand. */
  readonly powers: (Polynomial | undefined)[][]
}

const MODULI: Readonly<Record<CrcName, Omit<Field, 'powers'>>> = {
  CRC32: { digestBytes: 4, modulus: { high: 0xedb88320, low: 0 } },
  CRC32C: { digestBytes: 4, modulus: { high: 0x82f63b78, low: 0 } },
  CRC64NVME: { digestBytes: 8, modulus: { high: 0x9a6c9329, low: 0xac4bc9b5 } },
}

const fieldOf = (name: CrcName): Field => ({ ...MODULI[name], powers: [] })

const ONE: Polynomial = { high: 0x8000_0000, low: 0 }
const X_TO_THE_8: Polynomial = { high: 0x0080_0000, low: 0 }

/** Adds b·x^i for every bit of a, reducing by the modulus whenever the degree overflows. */
function multiply(of: Field, a: Polynomial, b: Polynomial): Polynomial {
  const wide = of.digestBytes === 8
  const { high: modulusHigh, low: modulusLow } = of.modulus
  let { high, low } = b
  let sumHigh = 0
  let sumLow = 0
  for (let bit = 0; bit < of.digestBytes * 8; bit++) {
    const word = bit < 32 ? a.high : a.low
    if (((word >>> (31 - (bit & 31))) & 1) === 1) {
      sumHigh ^= high
      sumLow ^= low
    }
    const overflows = ((wide ? low : high) & 1) === 1
    low = wide ? (low >>> 1) | (high << 31) : 0
    high >>>= 1
    if (overflows) {
      high ^= modulusHigh
      low ^= modulusLow
    }
  }
  return { high: sumHigh >>> 0, low: sumLow >>> 0 }
}

/** x^(8·digit·256^row). */
function rowPower(of: Field, row: number, digit: number): Polynomial {
  const powers = (of.powers[row] ??= [ONE])
  const known = powers[digit]
  if (known !== undefined) return known
  const first = digit > 1 ? rowPower(of, row, 1) : row === 0 ? X_TO_THE_8 : square8(of, rowPower(of, row - 1, 1))
  const power = digit === 1 ? first : multiply(of, rowPower(of, row, digit - 1), first)
  powers[digit] = power
  return power
}

/** p^256. */
function square8(of: Field, base: Polynomial): Polynomial {
  let power = base
  for (let i = 0; i < 8; i++) power = multiply(of, power, power)
  return power
}

/** x^(8·bytes): the factor for appending that many bytes. */
function power(of: Field, bytes: number): Polynomial {
  let product: Polynomial | undefined
  for (let row = 0, rest = bytes; rest > 0; row++, rest = Math.floor(rest / 256)) {
    const digit = rest % 256
    if (digit === 0) continue
    const factor = rowPower(of, row, digit)
    product = product === undefined ? factor : multiply(of, product, factor)
  }
  return product ?? ONE
}

function read(of: Field, digest: Buffer): Polynomial {
  if (digest.length !== of.digestBytes)
    throw new RangeError(`expected a digest of ${of.digestBytes} bytes, got ${digest.length}`)
  return { high: digest.readUInt32BE(0), low: of.digestBytes === 8 ? digest.readUInt32BE(4) : 0 }
}

function write(of: Field, { high, low }: Polynomial): Buffer {
  const digest = Buffer.alloc(of.digestBytes)
  digest.writeUInt32BE(high, 0)
  if (of.digestBytes === 8) digest.writeUInt32BE(low, 4)
  return digest
}

/** x^(8·bytes) modulo the polynomial of this CRC, in its byte form. */
export function crcPower(name: CrcName, bytes: number): Buffer {
  const of = fieldOf(name)
  return write(of, power(of, bytes))
}

export interface CrcPiece {
  readonly digest: Buffer
  readonly size: number
}

/** The CRC of the concatenated pieces. Most uploads have parts of one size, which share one power. */
export function combineCrcs(name: CrcName, pieces: Iterable<CrcPiece>): Buffer {
  const of = fieldOf(name)
  const powers = new Map<number, Polynomial>()
  let sum: Polynomial = { high: 0, low: 0 }
  for (const { digest, size } of pieces) {
    let factor = powers.get(size)
    if (factor === undefined) {
      factor = power(of, size)
      powers.set(size, factor)
    }
    const shifted = multiply(of, factor, sum)
    const next = read(of, digest)
    sum = { high: (shifted.high ^ next.high) >>> 0, low: (shifted.low ^ next.low) >>> 0 }
  }
  return write(of, sum)
}
