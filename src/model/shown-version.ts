/**
 * What listings show of a version, read where its record lies. It is a small part of the record, and a page shows a
 * thousand of them: so nothing else is looked at, and what one record after the other has alike is read once.
 */

import { type ByteSpan, EMPTY } from '../lib/bytes.ts'
import { BadRecord, perhaps, Reader, repeated } from '../lib/codec.ts'
import { crc32Of } from '../lib/crc.ts'
import { attributeFields, checksumFields, NULL_VERSION, type Version } from './version.ts'
import { type Alike, type ChecksumKind, firstFields, HEAD, ownFields, readAlike } from './version-record.ts'

export type { ChecksumKind } from './version-record.ts'

export type ShownVersion = Alike & Pick<Version, 'seq' | 'id' | 'modifiedAt' | 'size' | 'etag'>

const [VERSION, FIRST, SECOND] = Buffer.from('V12') as unknown as [number, number, number]

/** As long as what versions have alike usually is, and more. */
const ALIKE_BYTES_MAX = 512
/** Some owners or checksums may take turns. */
const KNOWN = 4

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

const readOwner = repeated(firstFields.owner.read)

const readChecksumKind = repeated((r: Reader): ChecksumKind => {
  const algorithm = checksumFields.algorithm.read(r)
  return { algorithm, type: checksumFields.type.read(r) }
})

const readChecksum = perhaps((r: Reader): ChecksumKind => {
  const kind = readChecksumKind(r)
  checksumFields.value.skip(r)
  return kind
})

const readStorageClass = repeated((r: Reader): string | undefined => {
  attributeFields.headers.skip(r)
  attributeFields.metadata.skip(r)
  attributeFields.tags.skip(r)
  attributeFields.grants.skip(r)
  attributeFields.redirect.skip(r)
  return attributeFields.storageClass.read(r)
})

const NOTHING: Alike = { owner: '', marker: false, checksum: undefined, storageClass: undefined }

/** What versions have alike: as which bytes, their checksum, and what they say. */
class Known {
  readonly #bytes = new Uint8Array(ALIKE_BYTES_MAX)
  readonly #view = viewOf(this.#bytes)
  #length = 0
  sum = 0
  alike: Alike = NOTHING

  isAt(view: DataView, from: number, end: number): boolean {
    const length = end - from
    if (length !== this.#length) return false
    let i = 0
    for (; i + 4 <= length; i += 4) if (this.#view.getInt32(i) !== view.getInt32(from + i)) return false
    for (; i < length; i++) if (this.#bytes[i] !== view.getUint8(from + i)) return false
    return true
  }

  take(bytes: Buffer, from: number, end: number, sum: number): void {
    this.alike = new Reader(bytes, from, end).block(readAlike)
    this.sum = sum
    const length = end - from
    // What is too long is read each time: no record has a length of 0.
    this.#length = length <= ALIKE_BYTES_MAX ? length : 0
    if (this.#length > 0) this.#bytes.set(bytes.subarray(from, end))
  }
}

/** The record that was read last; texts are given by their places, since not everybody makes strings of them. */
export class ShownRecord {
  bytes: Buffer = EMPTY
  seq = 0
  modifiedAt = 0
  size = 0
  idStart = 0
  idEnd = 0
  etagStart = 0
  etagEnd = 0
  /** The same object as before while it says the same. */
  alike: Alike = NOTHING

  #view = viewOf(EMPTY)
  readonly #known = Array.from({ length: KNOWN }, () => new Known())
  /** The one that was met last, and the one that is forgotten next. */
  #last: Known = this.#known[0]!
  #oldest = 0

  /**
   * Whether a record vouches by a checksum of its own for what is shown of it, which is read then. Records of the
   * first format never do: whoever keeps them has to say whether they are sound.
   */
  isSound({ bytes, start, end }: ByteSpan, key: ByteSpan): boolean {
    if (end - start < HEAD.alike || bytes[start] !== VERSION || bytes[start + 1] !== SECOND) return false
    const from = start + HEAD.checkedFrom
    const alikeEnd = HEAD.blockEnd(bytes, from)
    if (alikeEnd + 2 > end) return false
    const ownEnd = HEAD.blockEnd(bytes, alikeEnd)
    if (ownEnd > end) return false
    this.#look(bytes)
    const isKnown = this.#meet(from, alikeEnd)
    const alikeSum = isKnown ? this.#last.sum : crc32Of(bytes, from, alikeEnd)
    const sum = crc32Of(key.bytes, key.start, key.end, crc32Of(bytes, alikeEnd, ownEnd, alikeSum))
    if (sum >>> 0 !== this.#view.getUint32(start + HEAD.checksum)) return false
    if (!isKnown) this.#learn(from, alikeEnd, alikeSum)
    this.alike = this.#last.alike
    this.#readOwn(alikeEnd + 2, ownEnd)
    return true
  }

  /** Reads a record that somebody else has found sound. */
  read({ bytes, start, end }: ByteSpan): void {
    this.#look(bytes)
    if (end - start < 2 || bytes[start] !== VERSION) throw new BadRecord('is no version')
    if (bytes[start + 1] === SECOND) this.#readSecond(start, end)
    else if (bytes[start + 1] === FIRST) this.#readFirst(start + 2, end)
    else throw new BadRecord('is a version of an unknown format')
  }

  version(): ShownVersion {
    const { bytes, seq, idStart, idEnd, modifiedAt, size } = this
    const { owner, marker, checksum, storageClass } = this.alike
    const id = isNull(bytes, idStart, idEnd) ? NULL_VERSION : bytes.toString('utf8', idStart, idEnd)
    const etag = bytes.toString('utf8', this.etagStart, this.etagEnd)
    return { seq, id, modifiedAt, owner, marker, size, etag, checksum, storageClass }
  }

  #look(bytes: Buffer): void {
    if (this.bytes === bytes) return
    this.bytes = bytes
    this.#view = viewOf(bytes)
  }

  /** Whether it has met these bytes before. */
  #meet(from: number, end: number): boolean {
    if (this.#last.isAt(this.#view, from, end)) return true
    const known = this.#known.find(one => one.isAt(this.#view, from, end))
    if (known !== undefined) this.#last = known
    return known !== undefined
  }

  #learn(from: number, end: number, sum: number): void {
    this.#last = this.#known[this.#oldest]!
    this.#oldest = (this.#oldest + 1) % KNOWN
    this.#last.take(this.bytes, from, end, sum)
  }

  #readSecond(start: number, end: number): void {
    const from = start + HEAD.checkedFrom
    const alikeEnd = from + 2 <= end ? HEAD.blockEnd(this.bytes, from) : end
    const ownEnd = alikeEnd + 2 <= end ? HEAD.blockEnd(this.bytes, alikeEnd) : end + 1
    if (ownEnd > end) throw new BadRecord('ends too early')
    if (!this.#meet(from, alikeEnd)) this.#learn(from, alikeEnd, crc32Of(this.bytes, from, alikeEnd))
    this.alike = this.#last.alike
    this.#readOwn(alikeEnd + 2, ownEnd)
  }

  #readOwn(start: number, end: number): void {
    const r = new Reader(this.bytes, start, end)
    this.seq = ownFields.seq.read(r)
    this.modifiedAt = ownFields.modifiedAt.read(r)
    this.size = ownFields.size.read(r)
    this.#placeId(r)
    this.#placeEtag(r)
    r.end()
  }

  #readFirst(start: number, end: number): void {
    const r = new Reader(this.bytes, start, end)
    this.seq = firstFields.seq.read(r)
    this.#placeId(r)
    this.modifiedAt = firstFields.modifiedAt.read(r)
    const owner = readOwner(r)
    const marker = firstFields.marker.read(r)
    this.size = firstFields.size.read(r)
    this.#placeEtag(r)
    firstFields.parts.skip(r)
    const checksum = readChecksum(r)
    firstFields.encryption.skip(r)
    firstFields.lock.skip(r)
    const storageClass = readStorageClass(r)
    firstFields.nullSeq.skip(r)
    firstFields.content.skip(r)
    r.end()
    const { alike } = this
    const isSame = alike.owner === owner && alike.marker === marker && alike.storageClass === storageClass
    if (!isSame || alike.checksum !== checksum) this.alike = { owner, marker, checksum, storageClass }
  }

  #placeId(r: Reader): void {
    const length = r.uint()
    this.idStart = r.at
    r.pass(length)
    this.idEnd = r.at
  }

  #placeEtag(r: Reader): void {
    const length = r.uint()
    this.etagStart = r.at
    r.pass(length)
    this.etagEnd = r.at
  }
}

const NULL_BYTES = Buffer.from(NULL_VERSION)

/** Most ids are this one where versions are not kept. */
function isNull(bytes: Buffer, start: number, end: number): boolean {
  if (end - start !== NULL_BYTES.length) return false
  for (let i = 0; i < NULL_BYTES.length; i++) if (bytes[start + i] !== NULL_BYTES[i]) return false
  return true
}
