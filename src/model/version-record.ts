/**
 * How a version is stored. What listings show of it comes first and has a checksum of its own, so that a listing looks
 * at no other byte: behind it a record may hold a content. First of all stands what many versions have alike, which
 * is read and checked once for all of them.
 */

import {
  type Codec,
  decoder,
  encoded,
  flag,
  format,
  optional,
  type Reader,
  repeated,
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

/** How an object was summed up; the sum itself is not shown. */
export type ChecksumKind = Pick<Checksum, 'algorithm' | 'type'>

/** What a listing shows and many versions of a bucket have alike. They share it, and nobody may change it. */
export interface Alike {
  readonly owner: string
  readonly marker: boolean
  readonly checksum: ChecksumKind | undefined
  readonly storageClass: string | undefined
}

/** What a listing shows and each version has for itself. */
export type Own = Pick<Version, 'seq' | 'modifiedAt' | 'size' | 'id' | 'etag'>

const alikeCodec: Codec<Alike> = struct<Alike>({
  owner: text,
  marker: flag,
  checksum: optional(struct<ChecksumKind>({ algorithm: checksumFields.algorithm, type: checksumFields.type })),
  storageClass: attributeFields.storageClass,
})

export const ownFields = { seq: uint, modifiedAt: uint, size: uint, id: text, etag: text }

const ownCodec: Codec<Own> = struct<Own>(ownFields)

/** V1 had its fields in this order and no checksum of its own. */
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

/** Behind the marker: the checksum, then the two blocks it is of, then what listings do not show. */
export const HEAD = {
  checksum: 2,
  checkedFrom: 6,
  alike: 8,
  blockEnd: (bytes: Buffer, at: number): number => at + 2 + bytes[at]! * 256 + bytes[at + 1]!,
} as const

const { headers, metadata, tags, grants, redirect } = attributeFields
const encryption = optional(encryptionCodec)
const nullSeq = optional(uint)

function write(to: Writer, version: Version): void {
  const { owner, marker, checksum, attributes } = version
  to.raw(NO_CHECKSUM)
  to.block(alikeCodec.write, { owner, marker, checksum, storageClass: attributes.storageClass })
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

export const readAlike: (from: Reader) => Alike = repeated(alikeCodec.read)
const readHeaders = repeated(headers.read)
const readGrants = repeated(grants.read)

/** Written out, since this is how every object is opened. */
function read(from: Reader): Version {
  from.pass(NO_CHECKSUM.length)
  const { owner, marker, checksum, storageClass } = from.block(readAlike)
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
   * A record for this key, which its checksum covers too: a damaged page of an engine can also lead to a whole record
   * of another key.
   */
  encode(version: Version, key: Buffer): Buffer {
    const record = encoded(MARK, write, version)
    const end = HEAD.blockEnd(record, HEAD.blockEnd(record, HEAD.checkedFrom))
    const sum = crc32Of(key, 0, key.length, crc32Of(record, HEAD.checkedFrom, end))
    record.writeUInt32BE(sum >>> 0, HEAD.checksum)
    return record
  },
  decode: decoder(MARKER, read, firstFormat),
}
