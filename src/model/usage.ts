/**
 * The usage counters of a bucket. A counter is a signed 64-bit integer: zero-copy copies can push the logical bytes
 * of a bucket beyond what a JavaScript number holds exactly, so sums are carried as two halves and never rounded.
 */
import { BadRecord, flag, format, struct, uint } from '../lib/codec.ts'
import type { Version } from './version.ts'

export const USAGE_FIELDS = [
  'objects',
  'versions',
  'deleteMarkers',
  'bytes',
  'versionBytes',
  'uploads',
  'uploadBytes',
] as const

export type UsageField = (typeof USAGE_FIELDS)[number]

/**
 * `objects` and `bytes`: current versions. `versions` and `versionBytes`: all versions that have bytes, current ones
 * included. `uploads` and `uploadBytes`: open multipart uploads and their stored parts. All bytes are logical.
 */
export type Usage = { readonly [F in UsageField]: number }

/** The change one transaction makes to a bucket's usage. Single objects are far below 2^53 bytes: numbers are exact. */
export type UsageDelta = { [F in UsageField]: number }

export const noUsage = (): UsageDelta => ({
  objects: 0,
  versions: 0,
  deleteMarkers: 0,
  bytes: 0,
  versionBytes: 0,
  uploads: 0,
  uploadBytes: 0,
})

/**
 * Counts a version into a usage delta. Called, like the three functions below, where the records themselves are
 * written, so that no path can change one without the other. `by` is 1 for what is added, -1 for what is removed.
 */
export function countVersion(usage: UsageDelta, { marker, size }: Pick<Version, 'marker' | 'size'>, by: 1 | -1): void {
  if (marker) {
    usage.deleteMarkers += by
    return
  }
  usage.versions += by
  usage.versionBytes += by * size
}

/** Counts a version that becomes current, or no longer is. */
export function countCurrent(usage: UsageDelta, { size }: Pick<Version, 'size'>, by: 1 | -1): void {
  usage.objects += by
  usage.bytes += by * size
}

/** Counts a new upload, or one that ends with these bytes in its parts. */
export function countUpload(usage: UsageDelta, storedBytes: number, by: 1 | -1): void {
  usage.uploads += by
  usage.uploadBytes += by * storedBytes
}

export function countPart(usage: UsageDelta, size: number, replacedSize: number): void {
  usage.uploadBytes += size - replacedSize
}

const COUNTER_BYTES = 8
const MARKER = Buffer.from('O1')
const COUNTERS_END = MARKER.length + USAGE_FIELDS.length * COUNTER_BYTES
const HALF = 2 ** 32

/** The value of a counter record with every counter at zero. It is modified in place and stored as is. */
export function zeroCounters(): Buffer {
  const out = Buffer.alloc(COUNTERS_END)
  MARKER.copy(out)
  return out
}

function addAt(counters: Buffer, at: number, amount: number): void {
  const sum = counters.readUInt32BE(at + 4) + amount
  const carry = Math.floor(sum / HALF)
  counters.writeUInt32BE(sum - carry * HALF, at + 4)
  counters.writeInt32BE((counters.readInt32BE(at) + carry) | 0, at)
}

/** `times` is 1, or -1 to revert a change. Unrolled, because every small put runs it. */
export function addDelta(counters: Buffer, delta: Usage, times: 1 | -1): void {
  if (delta.objects !== 0) addAt(counters, 2, delta.objects * times)
  if (delta.versions !== 0) addAt(counters, 10, delta.versions * times)
  if (delta.deleteMarkers !== 0) addAt(counters, 18, delta.deleteMarkers * times)
  if (delta.bytes !== 0) addAt(counters, 26, delta.bytes * times)
  if (delta.versionBytes !== 0) addAt(counters, 34, delta.versionBytes * times)
  if (delta.uploads !== 0) addAt(counters, 42, delta.uploads * times)
  if (delta.uploadBytes !== 0) addAt(counters, 50, delta.uploadBytes * times)
}

export const isZeroDelta = (delta: Usage): boolean =>
  delta.objects === 0 &&
  delta.versions === 0 &&
  delta.deleteMarkers === 0 &&
  delta.bytes === 0 &&
  delta.versionBytes === 0 &&
  delta.uploads === 0 &&
  delta.uploadBytes === 0

export function addCounters(counters: Buffer, other: Buffer, times: 1 | -1): void {
  for (let at = MARKER.length; at < COUNTERS_END; at += COUNTER_BYTES) {
    addAt(counters, at, times * other.readUInt32BE(at + 4))
    counters.writeInt32BE((counters.readInt32BE(at) + times * other.readInt32BE(at)) | 0, at)
  }
}

/** As numbers: exact up to 2^53, rounded beyond. */
export function usageIn(counters: Buffer): Usage {
  const out = noUsage()
  let at = MARKER.length
  for (const field of USAGE_FIELDS) {
    out[field] = counters.readInt32BE(at) * HALF + counters.readUInt32BE(at + 4)
    at += COUNTER_BYTES
  }
  return out
}

/** A bucket's base: the result of its last count, or zero since its creation. */
export interface UsageBase {
  /** The store's incarnation at that time. */
  readonly incarnation: number
  readonly counters: Buffer
}

const BASE_MARKER = Buffer.from('O2')

function countersFrom(value: Buffer): Buffer {
  if (value.length !== COUNTERS_END || !value.subarray(0, 2).equals(MARKER)) throw new BadRecord('not usage counters')
  return value
}

export const usageBaseFormat = {
  encode({ incarnation, counters }: UsageBase): Buffer {
    const out = Buffer.alloc(COUNTERS_END + 8)
    counters.copy(out)
    BASE_MARKER.copy(out)
    out.writeBigUInt64BE(BigInt(incarnation), COUNTERS_END)
    return out
  },
  decode(value: Buffer): UsageBase {
    if (value.length !== COUNTERS_END + 8 || !value.subarray(0, 2).equals(BASE_MARKER)) {
      throw new BadRecord('not the base of usage counters')
    }
    const counters = Buffer.from(value.subarray(0, COUNTERS_END))
    MARKER.copy(counters)
    return { incarnation: Number(value.readBigUInt64BE(COUNTERS_END)), counters }
  },
}

/** Counters of either record: of a base, or of a slot. */
export const countersFormat = {
  decode: (value: Buffer): Buffer =>
    value[1] === BASE_MARKER[1] ? usageBaseFormat.decode(value).counters : countersFrom(value),
}

/** Records that counters are maintained, and since which incarnation bases are valid. */
export interface UsageMark {
  /** Incarnation of the last owner that maintained counters. */
  readonly incarnation: number
  /** Bases of an earlier incarnation are counted again. */
  readonly since: number
  /** No outdated base is left. */
  readonly done: boolean
}

export const usageMarkFormat = format<UsageMark>(
  'O3',
  struct<UsageMark>({ incarnation: uint, since: uint, done: flag }),
)
