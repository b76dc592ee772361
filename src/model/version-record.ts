/**
 * The encoding of a version. The fields that listings show come first and have a checksum of their own, so that a
 * listing reads no other byte: a content may follow. The first block holds fields that many versions have in common,
 * which are decoded and verified once for all of them.
 */

import {
  type Codec,
  decoderFor,
  encodeRecord,
  flag,
  format,
  memoizeRead,
  optional,
  type Reader,
  struct,
  text,
  uint,
  type Writer,
} from '../lib/codec.ts'
import { crc32Of } from '../lib/crc.ts'
import { contentCodec } from './content.ts'
import {
  attributeFields,
  attributesCodec,
  type Checksum,
  checksumCodec,
  checksumFields,
  encryptionCodec,
  lockCodec,
  type Version,
} from './version.ts'

/** The kind of a checksum; its value is not listed. */
export type ChecksumKind = Pick<Checksum, 'algorithm' | 'type'>

/** Listed fields that many versions of a bucket have in common. The object is shared and must not be modified. */
export interface CommonFields {
  readonly owner: string
  readonly marker: boolean
  readonly checksum: ChecksumKind | undefined
  readonly storageClass: string | undefined
}

/** Listed fields that differ between versions. */
type OwnFields = Pick<Version, 'seq' | 'modifiedAt' | 'size' | 'id' | 'etag'>

const commonCodec: Codec<CommonFields> = struct<CommonFields>({
  owner: text,
  marker: flag,
  checksum: optional(struct<ChecksumKind>({ algorithm: checksumFields.algorithm, type: checksumFields.type })),
  storageClass: attributeFields.storageClass,
})

export const ownFields = { seq: uint, modifiedAt: uint, size: uint, id: text, etag: text }

const ownCodec: Codec<OwnFields> = struct<OwnFields>(ownFields)

/** V1 has its fields in this order and no checksum of its own. */
export const firstFields = {
  seq: uint,
  id: text,
  modifiedAt: uint,
  owner: text,
  marker: flag,
  size: uint,
  etag: text,
  parts: uint,
  checksum: optional(checksumCodec),
  encryption: optional(encryptionCodec),
  lock: lockCodec,
  attributes: attributesCodec,
  nullSeq: optional(uint),
  content: contentCodec,
}

export const firstFormat = format<Version>('V1', struct<Version>(firstFields))

const MARKER = 'V2'

/** Layout after the marker: the checksum, the two blocks it covers, then the fields that are not listed. */
export const HEAD = {
  checksum: 2,
  checkedFrom: 6,
  commonStart: 8,
  blockEnd: (bytes: Buffer, at: number): number => at + 2 + bytes[at]! * 256 + bytes[at + 1]!,
} as const

const { headers, metadata, tags, grants, redirect } = attributeFields
const encryption = optional(encryptionCodec)
const nullSeq = optional(uint)

function write(to: Writer, version: Version): void {
  const { owner, marker, checksum, attributes } = version
  to.raw(NO_CHECKSUM)
  to.block(commonCodec.write, { owner, marker, checksum, storageClass: attributes.storageClass })
  to.block(ownCodec.write, version)
  to.uint(version.parts)
  if (checksum !== undefined) to.text(checksum.value)
  encryption.write(to, version.encryption)
  lockCodec.write(to, version.lock)
  headers.write(to, attributes.headers)
  metadata.write(to, attributes.metadata)
  tags.write(to, attributes.tags)
  grants.write(to, attributes.grants)
  redirect.write(to, attributes.redirect)
  nullSeq.write(to, version.nullSeq)
  contentCodec.write(to, version.content)
}

const NO_CHECKSUM = Buffer.alloc(4)
const MARK = Buffer.from(MARKER, 'latin1')

export const readCommonFields: (from: Reader) => CommonFields = memoizeRead(commonCodec.read)
const readHeaders = memoizeRead(headers.read)
const readGrants = memoizeRead(grants.read)

/** Written out field by field, since it runs for every object that is opened. */
function read(from: Reader): Version {
  from.skip(NO_CHECKSUM.length)
  const { owner, marker, checksum, storageClass } = from.block(readCommonFields)
  const { seq, modifiedAt, size, id, etag } = from.block(ownCodec.read)
  const parts = from.uint()
  const sum = checksum && { algorithm: checksum.algorithm, type: checksum.type, value: from.text() }
  return {
    seq,
    id,
    modifiedAt,
    owner,
    marker,
    size,
    etag,
    parts,
    checksum: sum,
    encryption: encryption.read(from),
    lock: lockCodec.read(from),
    attributes: {
      headers: readHeaders(from),
      metadata: metadata.read(from),
      tags: tags.read(from),
      grants: readGrants(from),
      redirect: redirect.read(from),
      storageClass,
    },
    nullSeq: nullSeq.read(from),
    content: contentCodec.read(from),
  }
}

export const versionFormat = {
  /**
   * Encodes a record for this key, which its checksum covers too: a damaged page of an engine may also lead to an
   * intact record of another key.
   */
  encode(version: Version, key: Buffer): Buffer {
    const record = encodeRecord(MARK, write, version)
    const end = HEAD.blockEnd(record, HEAD.blockEnd(record, HEAD.checkedFrom))
    const sum = crc32Of(key, 0, key.length, crc32Of(record, HEAD.checkedFrom, end))
    record.writeUInt32BE(sum >>> 0, HEAD.checksum)
    return record
  },
  decode: decoderFor(MARKER, read, firstFormat),
}
