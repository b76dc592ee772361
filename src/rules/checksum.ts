/**
 * The five checksum algorithms that clients may request or send, and the rules for combining them with uploads.
 * On the wire a value is base64 of the big-endian digest; in here it is bytes.
 */
import { createHash } from 'node:crypto'
import { crc32c } from '@node-rs/crc32'
import { crc32 } from '../lib/crc.ts'
import { crc64 } from '../lib/crc64.ts'
import { Fault } from '../model/faults.ts'
import type { Checksum } from '../model/version.ts'
import { headerName } from './access/names.ts'

export const CHECKSUM_ALGORITHMS = ['CRC32', 'CRC32C', 'CRC64NVME', 'SHA1', 'SHA256'] as const

export type ChecksumAlgorithm = (typeof CHECKSUM_ALGORITHMS)[number]
export type ChecksumType = Checksum['type']

/** Incremental hash. `digest` covers everything so far and must be the last call. */
interface Hasher {
  update(bytes: Uint8Array): void
  digest(): Buffer
}

interface Rules {
  readonly digestBytes: number
  /** R20: checksum types that a multipart upload may use; the first is the default. */
  readonly uploadTypes: readonly ChecksumType[]
  start(): Hasher
}

const RULES: Readonly<Record<ChecksumAlgorithm, Rules>> = {
  CRC32: { digestBytes: 4, uploadTypes: ['COMPOSITE', 'FULL_OBJECT'], start: () => smallCrc(crc32) },
  CRC32C: {
    digestBytes: 4,
    uploadTypes: ['COMPOSITE', 'FULL_OBJECT'],
    start: () => smallCrc((bytes, seed) => crc32c(bytes as Buffer, seed)),
  },
  CRC64NVME: { digestBytes: 8, uploadTypes: ['FULL_OBJECT'], start: largeCrc },
  SHA1: { digestBytes: 20, uploadTypes: ['COMPOSITE'], start: () => cryptographic('sha1') },
  SHA256: { digestBytes: 32, uploadTypes: ['COMPOSITE'], start: () => cryptographic('sha256') },
}

function smallCrc(next: (bytes: Uint8Array, seed: number) => number): Hasher {
  let crc = 0
  return {
    update: bytes => {
      crc = next(bytes, crc)
    },
    digest: () => {
      const digest = Buffer.alloc(4)
      digest.writeUInt32BE(crc)
      return digest
    },
  }
}

function largeCrc(): Hasher {
  let crc = 0n
  return {
    update: bytes => {
      crc = crc64(bytes, crc)
    },
    digest: () => {
      const digest = Buffer.alloc(8)
      digest.writeBigUInt64BE(crc)
      return digest
    },
  }
}

function cryptographic(name: 'sha1' | 'sha256'): Hasher {
  const hash = createHash(name)
  return { update: bytes => void hash.update(bytes), digest: () => hash.digest() }
}

export function startHasher(algorithm: ChecksumAlgorithm): Hasher {
  return RULES[algorithm].start()
}

export function digestOf(algorithm: ChecksumAlgorithm, bytes: Uint8Array): Buffer {
  const hasher = startHasher(algorithm)
  hasher.update(bytes)
  return hasher.digest()
}

/** R51, R69, R112. Finds an algorithm by its name in any case: header values are upper case, header names lower. */
export function checksumAlgorithm(name: string): ChecksumAlgorithm {
  const upper = name.toUpperCase()
  const found = CHECKSUM_ALGORITHMS.find(algorithm => algorithm === upper)
  if (found !== undefined) return found
  throw new Fault('InvalidRequest', {
    reason:
      'Checksum algorithm provided is unsupported. Please try again with any of the valid types: ' +
      `[${CHECKSUM_ALGORITHMS.join(', ')}]`,
  })
}

/** R19. Decodes a base64 digest of the right length; undefined for anything else. */
export function decodeDigest(algorithm: ChecksumAlgorithm, value: string): Buffer | undefined {
  return decodeBase64(value, RULES[algorithm].digestBytes)
}

/** Accepts only the canonical base64 encoding of exactly `length` bytes. */
function decodeBase64(value: string, length: number): Buffer | undefined {
  if (value.length !== Math.ceil(length / 3) * 4) return undefined
  const bytes = Buffer.from(value, 'base64')
  return bytes.length === length && bytes.toString('base64') === value ? bytes : undefined
}

/** R104. Content-MD5 is base64 of 16 bytes. */
export function decodeContentMd5(value: string): Buffer {
  const digest = decodeBase64(value, 16)
  if (digest === undefined) throw new Fault('InvalidDigest', { 'Content-MD5': value })
  return digest
}

export function checkContentMd5(expected: Buffer, computed: Buffer): void {
  if (expected.equals(computed)) return
  throw new Fault('BadDigest', {
    reason: 'The Content-MD5 you specified did not match what we received.',
    ExpectedDigest: expected.toString('hex'),
    CalculatedDigest: computed.toString('base64'),
  })
}

/** A checksum that a client sent along. `parts` is the N of a value `…-N`. */
export interface ExpectedChecksum {
  readonly algorithm: ChecksumAlgorithm
  readonly digest: Buffer
  readonly parts: number | undefined
}

const COUNTED = /^(.+)-([1-9]\d{0,4})$/

export function moreThanOneChecksum(): Fault {
  const reason = `Expecting a single ${headerName('checksum-')} header. Multiple checksum Types are not allowed.`
  return new Fault('InvalidRequest', { reason })
}

/**
 * R83, R20. The one checksum among the headers `checksum-<name>` of a request; more than one is refused. `counted`
 * is set for multipart objects, whose value may end in the part count.
 */
export function parseExpectedChecksum(
  sent: readonly (readonly [name: string, value: string])[],
  counted: boolean,
): ExpectedChecksum | undefined {
  const [only, second] = sent
  if (only === undefined) return undefined
  if (second !== undefined) throw moreThanOneChecksum()
  const algorithm = checksumAlgorithm(only[0])
  const value = only[1].trim()
  const match = counted ? COUNTED.exec(value) : null
  const digest = decodeDigest(algorithm, match?.[1] ?? value)
  if (digest === undefined) throw invalidValue(`checksum-${algorithm.toLowerCase()}`)
  return { algorithm, digest, parts: match === null ? undefined : Number(match[2]) }
}

/** R83, R112. */
export function checkExpectedChecksum(expected: ExpectedChecksum, computed: Buffer): void {
  if (expected.digest.equals(computed)) return
  throw new Fault('BadDigest', {
    reason: `The ${expected.algorithm} you specified did not match the calculated checksum.`,
  })
}

/** R20. The stored checksum of a single PUT or a copy. */
export function wholeChecksum(algorithm: ChecksumAlgorithm, digest: Buffer): Checksum {
  return { algorithm, type: 'FULL_OBJECT', value: digest.toString('base64') }
}

export interface UploadChecksum {
  readonly algorithm: ChecksumAlgorithm
  readonly type: ChecksumType
}

/** R69, R20. The checksum of a multipart upload, from the header values of CreateMultipartUpload as sent. */
export function uploadChecksum(algorithm: string | undefined, type: string | undefined): UploadChecksum | undefined {
  const wanted = type === undefined ? undefined : checksumType(type)
  if (algorithm === undefined) {
    if (wanted === undefined) return undefined
    const [type, algorithm] = [headerName('checksum-type'), headerName('checksum-algorithm')]
    throw new Fault('InvalidRequest', { reason: `The ${type} header can only be used with the ${algorithm} header.` })
  }
  const known = checksumAlgorithm(algorithm)
  const { uploadTypes } = RULES[known]
  if (wanted !== undefined && !uploadTypes.includes(wanted)) {
    const reason = `The ${wanted} checksum type cannot be used with the ${known.toLowerCase()} checksum algorithm.`
    throw new Fault('InvalidRequest', { reason })
  }
  return { algorithm: known, type: wanted ?? uploadTypes[0]! }
}

/** R20. Case-insensitive, as algorithms are. */
export function checksumType(type: string): ChecksumType {
  const upper = type.toUpperCase()
  if (upper === 'COMPOSITE' || upper === 'FULL_OBJECT') return upper
  throw invalidValue('checksum-type')
}

const invalidValue = (header: string): Fault =>
  new Fault('InvalidRequest', { reason: `Value for ${headerName(header)} header is invalid.` })
