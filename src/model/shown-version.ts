/**
 * Reads the listed fields of a version directly from its record. They are a small part of the record, and a page lists
 * a thousand: nothing else is decoded, and fields that consecutive records have in common are decoded once.
 */

import { type ByteSpan, EMPTY } from '../lib/bytes.ts'
import { BadRecord, memoizeRead, Reader, readOptional } from '../lib/codec.ts'
import { crc32Of } from '../lib/crc.ts'
import { attributeFields, checksumFields, NULL_VERSION, type Version } from './version.ts'
import {
  type ChecksumKind,
  type CommonFields,
  firstFields,
  HEAD,
  ownFields,
  readCommonFields,
} from './version-record.ts'

export type { ChecksumKind } from './version-record.ts'

export type ShownVersion = CommonFields & Pick<Version, 'seq' | 'id' | 'modifiedAt' | 'size' | 'etag'>

const [VERSION, FIRST, SECOND] = Buffer.from('V12') as unknown as [number, number, number]

/** Larger than the common fields usually are. */
const COMMON_BYTES_MAX = 512
/** Several owners or checksum types may alternate. */
const CACHED_FIELDS = 4

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const readOwner = memoizeRead(firstFields.owner.read)

const readChecksumKind = memoizeRead((r: Reader): ChecksumKind => {
  const algorithm = checksumFields.algorithm.read(r)
  return { algorithm, type: checksumFields.type.read(r) }
})

const readChecksum = readOptional((r: Reader): ChecksumKind => {
  const kind = readChecksumKind(r)
  checksumFields.value.skip(r)
  return kind
})

const readStorageClass = memoizeRead((r: Reader): string | undefined => {
  attributeFields.headers.skip(r)
  attributeFields.metadata.skip(r)
  attributeFields.tags.skip(r)
  attributeFields.grants.skip(r)
  attributeFields.redirect.skip(r)
  return attributeFields.storageClass.read(r)
})

const NO_FIELDS: CommonFields = { owner: '', marker: false, checksum: undefined, storageClass: undefined }

/** Common fields in encoded form, their checksum, and their decoded values. */
class CachedFields {
  readonly #bytes = new Uint8Array(COMMON_BYTES_MAX)
  readonly #view = viewOf(this.#bytes)
  #length = 0
  sum = 0
  common: CommonFields = NO_FIELDS

  matches(view: DataView, from: number, end: number): boolean {
    const length = end - from
    if (length !== this.#length) return false
    let i = 0
    for (; i + 4 <= length; i += 4) if (this.#view.getInt32(i) !== view.getInt32(from + i)) return false
    for (; i < length; i++) if (this.#bytes[i] !== view.getUint8(from + i)) return false
    return true
  }

  set(bytes: Buffer, from: number, end: number, sum: number): void {
    this.common = new Reader(bytes, from, end).block(readCommonFields)
    this.sum = sum
    const length = end - from
    // Longer ones are decoded every time: no record has a length of 0.
    this.#length = length <= COMMON_BYTES_MAX ? length : 0
    if (this.#length > 0) this.#bytes.set(bytes.subarray(from, end))
  }
}

/** The record read last; texts are exposed as byte ranges, because not every caller needs strings. */
export class ShownRecord {
  bytes: Buffer = EMPTY
  seq = 0
  modifiedAt = 0
  size = 0
  idStart = 0
  idEnd = 0
  etagStart = 0
  etagEnd = 0
  /** The same object as for the previous record while the fields are equal. */
  common: CommonFields = NO_FIELDS

  #view = viewOf(EMPTY)
  readonly #cached = Array.from({ length: CACHED_FIELDS }, () => new CachedFields())
  /** The entry used last, and the one to evict next. */
  #last: CachedFields = this.#cached[0]!
  #oldest = 0

  /**
   * Reads a record and verifies the listed fields by the record's own checksum. Records of the first format have none;
   * the engine must verify them.
   */
  verify({ bytes, start, end }: ByteSpan, key: ByteSpan): boolean {
    if (end - start < HEAD.commonStart || bytes[start] !== VERSION || bytes[start + 1] !== SECOND) return false
    const from = start + HEAD.checkedFrom
    const commonEnd = HEAD.blockEnd(bytes, from)
    if (commonEnd + 2 > end) return false
    const ownEnd = HEAD.blockEnd(bytes, commonEnd)
    if (ownEnd > end) return false
    this.#select(bytes)
    const isCached = this.#findCached(from, commonEnd)
    const commonSum = isCached ? this.#last.sum : crc32Of(bytes, from, commonEnd)
    const sum = crc32Of(key.bytes, key.start, key.end, crc32Of(bytes, commonEnd, ownEnd, commonSum))
    if (sum >>> 0 !== this.#view.getUint32(start + HEAD.checksum)) return false
    if (!isCached) this.#cache(from, commonEnd, commonSum)
    this.common = this.#last.common
    this.#readOwn(commonEnd + 2, ownEnd)
    return true
  }

  /** Reads a record that the engine has verified. */
  read({ bytes, start, end }: ByteSpan): void {
    this.#select(bytes)
    if (end - start < 2 || bytes[start] !== VERSION) throw new BadRecord('is no version')
    if (bytes[start + 1] === SECOND) this.#readSecond(start, end)
    else if (bytes[start + 1] === FIRST) this.#readFirst(start + 2, end)
    else throw new BadRecord('is a version of an unknown format')
  }

  version(): ShownVersion {
    const { bytes, seq, idStart, idEnd, modifiedAt, size } = this
    const { owner, marker, checksum, storageClass } = this.common
    const id = isNull(bytes, idStart, idEnd) ? NULL_VERSION : bytes.toString('utf8', idStart, idEnd)
    const etag = bytes.toString('utf8', this.etagStart, this.etagEnd)
    return { seq, id, modifiedAt, owner, marker, size, etag, checksum, storageClass }
  }

  #select(bytes: Buffer): void {
    if (this.bytes === bytes) return
    this.bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Finds these bytes among the cached common fields. */
  #findCached(from: number, end: number): boolean {
    if (this.#last.matches(this.#view, from, end)) return true
    const cached = this.#cached.find(one => one.matches(this.#view, from, end))
    if (cached !== undefined) this.#last = cached
    return cached !== undefined
  }

  #cache(from: number, end: number, sum: number): void {
    this.#last = this.#cached[this.#oldest]!
    this.#oldest = (this.#oldest + 1) % CACHED_FIELDS
    this.#last.set(this.bytes, from, end, sum)
  }

  #readSecond(start: number, end: number): void {
    const from = start + HEAD.checkedFrom
    const commonEnd = from + 2 <= end ? HEAD.blockEnd(this.bytes, from) : end
    const ownEnd = commonEnd + 2 <= end ? HEAD.blockEnd(this.bytes, commonEnd) : end + 1
    if (ownEnd > end) throw new BadRecord('ends too early')
    if (!this.#findCached(from, commonEnd)) this.#cache(from, commonEnd, crc32Of(this.bytes, from, commonEnd))
    this.common = this.#last.common
    this.#readOwn(commonEnd + 2, ownEnd)
  }

  #readOwn(start: number, end: number): void {
    const r = new Reader(this.bytes, start, end)
    this.seq = ownFields.seq.read(r)
    this.modifiedAt = ownFields.modifiedAt.read(r)
    this.size = ownFields.size.read(r)
    this.#locateId(r)
    this.#locateEtag(r)
    r.end()
  }

  #readFirst(start: number, end: number): void {
    const r = new Reader(this.bytes, start, end)
    this.seq = firstFields.seq.read(r)
    this.#locateId(r)
    this.modifiedAt = firstFields.modifiedAt.read(r)
    const owner = readOwner(r)
    const marker = firstFields.marker.read(r)
    this.size = firstFields.size.read(r)
    this.#locateEtag(r)
    firstFields.parts.skip(r)
    const checksum = readChecksum(r)
    firstFields.encryption.skip(r)
    firstFields.lock.skip(r)
    const storageClass = readStorageClass(r)
    firstFields.nullSeq.skip(r)
    firstFields.content.skip(r)
    r.end()
    const { common } = this
    const isSame = common.owner === owner && common.marker === marker && common.storageClass === storageClass
    if (!isSame || common.checksum !== checksum) this.common = { owner, marker, checksum, storageClass }
  }

  #locateId(r: Reader): void {
    const length = r.uint()
    this.idStart = r.at
    r.skip(length)
    this.idEnd = r.at
  }

  #locateEtag(r: Reader): void {
    const length = r.uint()
    this.etagStart = r.at
    r.skip(length)
    this.etagEnd = r.at
  }
}

const NULL_BYTES = Buffer.from(NULL_VERSION)

/** The most common id in buckets without versioning. */
function isNull(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== NULL_BYTES.length) return false
  for (let i = 0; i < NULL_BYTES.length; i++) if (bytes[start + i] !== NULL_BYTES[i]) return false
  return true
}
