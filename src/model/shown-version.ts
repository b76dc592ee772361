/**
 * What listings show of a version. It is read from the same records by the same codecs, but of each record only this:
 * making the whole of a version takes several times as long, and a page has a thousand of them.
 */
import { decoder, perhaps, type Reader, repeated } from '../lib/codec.ts'
import {
  attributeFields,
  type Checksum,
  checksumFields,
  VERSION_MARKER,
  type Version,
  versionFields,
} from './version.ts'

/** How an object was summed up; the sum itself is not shown. */
export type ChecksumKind = Pick<Checksum, 'algorithm' | 'type'>

export type ShownVersion = Pick<Version, 'seq' | 'id' | 'modifiedAt' | 'owner' | 'marker' | 'size' | 'etag'> & {
  readonly checksum: ChecksumKind | undefined
  readonly storageClass: string | undefined
}

const readId = repeated(versionFields.id.read)
const readOwner = repeated(versionFields.owner.read)

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

/** Field by field in the order of `versionFields`: that their names stand here is what makes it fast. */
function readShown(r: Reader): ShownVersion {
  const seq = versionFields.seq.read(r)
  const id = readId(r)
  const modifiedAt = versionFields.modifiedAt.read(r)
  const owner = readOwner(r)
  const marker = versionFields.marker.read(r)
  const size = versionFields.size.read(r)
  const etag = versionFields.etag.read(r)
  versionFields.parts.skip(r)
  const checksum = readChecksum(r)
  versionFields.encryption.skip(r)
  versionFields.lock.skip(r)
  const storageClass = readStorageClass(r)
  versionFields.nullSeq.skip(r)
  versionFields.content.skip(r)
  return { seq, id, modifiedAt, owner, marker, size, etag, checksum, storageClass }
}

export const decodeShown = decoder(VERSION_MARKER, readShown)
