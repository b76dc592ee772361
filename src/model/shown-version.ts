/**
 * What listings show of a version, read where its record lies. It is a small part of the record, and a page shows a
 * thousand of them: so nothing else is looked at, and what one record after the other has alike is read once.
 */
import { EMPTY, type Stretch } from '../lib/bytes.ts'
import { BadRecord, perhaps, Reader, repeated } from '../lib/codec.ts'
import { crc32Of } from '../lib/crc.ts'
import { attributeFields, checksumFields, NULL_VERSION, type Version } from './version.ts'
import { type Alike, type ChecksumKind, firstFields, HEAD, ownFields, readAlike } from './version-record.ts'

export type { ChecksumKind } from './version-record.ts'

export type ShownVersion = Alike & Pick<Version, 'seq' | 'id' | 'modifiedAt' | 'size' | 'etag'>

const [VERSION, FIRST, SECOND] = Buffer.from('V12') as unknown as [number, number, number]

/** As long as what versions have alike usually is, and more. */
const ALIKE_BYTES_MAX = 512

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
  /** As which bytes `alike` was read last, and their checksum; of no record while there are none. */
  readonly #known = new Uint8Array(ALIKE_BYTES_MAX)
  readonly #knownView = viewOf(this.#known)
  #knownBytes = 0
  #knownSum = 0
  #knownAlike: Alike = NOTHING

  /**
   * Whether a record vouches by a checksum of its own for what is shown of it, which is read then. Records of the
   * first format never do: whoever keeps them has to say whether they are sound.
   */
  isSound({ bytes, start, end }: Stretch, key: Stretch): boolean {
    if (end - start < HEAD.alike || bytes[start] !== VERSION || bytes[start + 1] !== SECOND) return false
    const from = start + HEAD.checkedFrom
    const alikeEnd = HEAD.blockEnd(bytes, from)
    if (alikeEnd + 2 > end) return false
    const ownEnd = HEAD.blockEnd(bytes, alikeEnd)
    if (ownEnd > end) return false
    this.#look(bytes)
    const isKnown = this.#isKnown(from, alikeEnd)
    const alikeSum = isKnown ? this.#knownSum : crc32Of(bytes, from, alikeEnd)
    const sum = crc32Of(key.bytes, key.start, key.end, crc32Of(bytes, alikeEnd, ownEnd, alikeSum))
    if (sum >>> 0 !== this.#view.getUint32(start + HEAD.checksum)) return false
    if (!isKnown) this.#learn(from, alikeEnd, alikeSum)
    this.alike = this.#knownAlike
    this.#readOwn(alikeEnd + 2, ownEnd)
    return true
  }

  /** Reads a record that somebody else has found sound. */
  read({ bytes, start, end }: Stretch): void {
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

  #isKnown(from: number, end: number): boolean {
    const length = end - from
    if (length !== this.#knownBytes) return false
    let i = 0
    for (; i + 4 <= length; i += 4) if (this.#knownView.getInt32(i) !== this.#view.getInt32(from + i)) return false
    for (; i < length; i++) if (this.#known[i] !== this.bytes[from + i]) return false
    return true
  }

  #learn(from: number, end: number, sum: number): void {
    this.#knownAlike = new Reader(this.bytes, from, end).block(readAlike)
    const length = end - from
    this.#knownBytes = length <= ALIKE_BYTES_MAX ? length : 0
    this.#knownSum = sum
    if (this.#knownBytes > 0) this.#known.set(this.bytes.subarray(from, end))
  }

  #readSecond(start: number, end: number): void {
    const from = start + HEAD.checkedFrom
    const alikeEnd = from + 2 <= end ? HEAD.blockEnd(this.bytes, from) : end
    const ownEnd = alikeEnd + 2 <= end ? HEAD.blockEnd(this.bytes, alikeEnd) : end + 1
    if (ownEnd > end) throw new BadRecord('ends too early')
    if (!this.#isKnown(from, alikeEnd)) this.#learn(from, alikeEnd, crc32Of(this.bytes, from, alikeEnd))
    this.alike = this.#knownAlike
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
