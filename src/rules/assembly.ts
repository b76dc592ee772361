import { createHash } from 'node:crypto'
import { Fault } from '../model/faults.ts'
import type { Part } from '../model/upload.ts'
import { LIMITS } from './limits.ts'

/** A part as the client lists it when completing. */
export interface ListedPart {
  readonly number: number
  /** Without quotes. */
  readonly etag: string
}

export interface Assembly {
  readonly parts: readonly Part[]
  readonly size: number
  readonly etag: string
}

/** R16. MD5 over the binary digests of the parts, and their count. */
export function multipartEtag(partEtags: readonly string[]): string {
  const hash = createHash('md5')
  for (const etag of partEtags) hash.update(etag, 'hex')
  return `${hash.digest('hex')}-${partEtags.length}`
}

/**
 * R76–R78, R81. The listed parts in strictly ascending order, each stored with that tag, none but the last too small.
 */
export function assemble(listed: readonly ListedPart[], stored: ReadonlyMap<number, Part>, uploadId: string): Assembly {
  if (listed.length === 0) throw new Fault('InvalidRequest', { reason: 'You must specify at least one part' })
  // The order depends on the list alone, so it is checked before the stored parts.
  if (listed.some(({ number }, i) => i > 0 && number <= listed[i - 1]!.number)) {
    throw new Fault('InvalidPartOrder', { UploadId: uploadId })
  }
  const parts: Part[] = []
  let size = 0
  for (const { number, etag } of listed) {
    const part = stored.get(number)
    if (part === undefined || part.etag !== etag) {
      throw new Fault('InvalidPart', { UploadId: uploadId, PartNumber: number, ETag: etag })
    }
    parts.push(part)
    size += part.size
  }
  for (const part of parts.slice(0, -1)) {
    if (part.size < LIMITS.partBytesMin) {
      throw new Fault('EntityTooSmall', {
        PartNumber: part.number,
        ETag: part.etag,
        ProposedSize: part.size,
        MinSizeAllowed: LIMITS.partBytesMin,
      })
    }
  }
  return { parts, size, etag: multipartEtag(parts.map(part => part.etag)) }
}
