/** Checksums of multipart objects: derived from the parts' checksums and compared with the client's (R79–R83). */
import { Fault } from '../model/faults.ts'
import type { Checksum } from '../model/version.ts'
import {
  type ChecksumAlgorithm,
  type ChecksumType,
  checkExpectedChecksum,
  checksumAlgorithm,
  decodeDigest,
  type ExpectedChecksum,
  startHasher,
  type UploadChecksum,
} from './checksum.ts'
import { type CrcPiece, combineCrcs } from './crc-combine.ts'

/** A stored part. Its checksum is base64, by its own algorithm if it names one, else by the upload's. */
export interface PartWithChecksum {
  readonly size: number
  readonly checksum: string | undefined
  readonly algorithm?: string | undefined
}

function pieces(algorithm: ChecksumAlgorithm, parts: readonly PartWithChecksum[]): CrcPiece[] | undefined {
  const found: CrcPiece[] = []
  for (const { checksum, size, algorithm: own = algorithm } of parts) {
    const digest = checksum === undefined || own !== algorithm ? undefined : decodeDigest(algorithm, checksum)
    if (digest === undefined) return undefined
    found.push({ digest, size })
  }
  return found
}

/** G18. The digest of the parts' concatenated binary digests. */
function compositeDigest(algorithm: ChecksumAlgorithm, digests: Iterable<Buffer>): Buffer {
  const hasher = startHasher(algorithm)
  for (const digest of digests) hasher.update(digest)
  return hasher.digest()
}

/** The digest of the whole object from those of its parts; undefined when the object must be read. */
function fullDigest(algorithm: ChecksumAlgorithm, of: readonly CrcPiece[]): Buffer | undefined {
  if (of.length === 1) return of[0]!.digest
  return algorithm === 'SHA1' || algorithm === 'SHA256' ? undefined : combineCrcs(algorithm, of)
}

/** The checksum of an object made of these parts; undefined when it cannot be derived from theirs. */
export function derivedChecksum(of: UploadChecksum, parts: readonly PartWithChecksum[]): Checksum | undefined {
  const known = pieces(of.algorithm, parts)
  if (known === undefined || known.length === 0) return undefined
  if (of.type === 'FULL_OBJECT') {
    const digest = fullDigest(of.algorithm, known)
    return digest === undefined ? undefined : { ...of, value: digest.toString('base64') }
  }
  const digest = compositeDigest(
    of.algorithm,
    known.map(piece => piece.digest),
  )
  return { ...of, value: `${digest.toString('base64')}-${parts.length}` }
}

/** G18. A composite value as object attributes show it: without the number of parts. */
export const withoutCount = (value: string): string => value.replace(/-\d+$/, '')

/**
 * R52. The checksum of a copy that requests an algorithm: always FULL_OBJECT. Undefined when the source must be read.
 * `parts` are those of the source, with checksums by the algorithm of its own checksum.
 */
export function copiedChecksum(
  source: Checksum | undefined,
  algorithm: ChecksumAlgorithm,
  parts: readonly PartWithChecksum[],
): Checksum | undefined {
  if (source === undefined || source.algorithm !== algorithm) return undefined
  if (source.type === 'FULL_OBJECT') return source
  return derivedChecksum({ algorithm, type: 'FULL_OBJECT' }, parts)
}

/** Identifies a listed part in a fault. */
interface ListedPartLocation {
  readonly uploadId: string
  readonly number: number
  readonly etag: string
}

/**
 * R79, R80. Checks the checksums that a completion lists for one part: `sent` are those of its entry, by algorithm;
 * `stored` is the recorded one.
 */
export function checkListedChecksum(
  declared: UploadChecksum | undefined,
  sent: readonly (readonly [ChecksumAlgorithm, string])[],
  stored: Pick<PartWithChecksum, 'checksum' | 'algorithm'>,
  place: ListedPartLocation,
): void {
  const [only, second] = sent
  if (second !== undefined) {
    throw new Fault('InvalidArgument', { ArgumentName: 'Part', reason: 'A part may have only one checksum.' })
  }
  if (only !== undefined && decodeDigest(only[0], only[1]) === undefined) {
    throw new Fault('InvalidArgument', { ArgumentName: `Checksum${only[0]}`, ArgumentValue: only[1] })
  }
  if (declared?.type === 'COMPOSITE' && only?.[0] !== declared.algorithm) {
    const created = `The upload was created using a ${declared.algorithm.toLowerCase()} checksum.`
    const missing = `It was missing for part ${place.number} in the request.`
    const reason = `${created} The complete request must include the checksum for each part. ${missing}`
    throw new Fault('InvalidRequest', { reason })
  }
  if (only === undefined) return
  if (only[0] !== declared?.algorithm) {
    if (only[0] === stored.algorithm && only[1] === stored.checksum) return
    const reason = `The ${only[0]} you specified for part ${place.number} did not match what we received.`
    throw new Fault('BadDigest', { reason })
  }
  if (only[1] !== stored.checksum) {
    throw new Fault('InvalidPart', { UploadId: place.uploadId, PartNumber: place.number, ETag: place.etag })
  }
}

/** The checksum of a completed object, as far as it follows without reading the object. */
interface CompletionChecksum {
  /** To be stored with the object, once `unverified` is checked. */
  readonly checksum: Checksum | undefined
  /** A claim that the parts' checksums cannot verify: the object must be read and hashed. */
  readonly unverified: ExpectedChecksum | undefined
}

/**
 * R82, R83. `declared` was fixed when the upload began; `type` and `claim` come with its completion. A type that
 * differs is marked `typeDiffers` in the fault, since the dialects name it differently (D5).
 */
export function verifyCompletionChecksum(
  declared: UploadChecksum | undefined,
  type: ChecksumType | undefined,
  claim: ExpectedChecksum | undefined,
  parts: readonly PartWithChecksum[],
): CompletionChecksum {
  if (declared !== undefined && type !== undefined && type !== declared.type) {
    const reason = `The upload was created using the ${declared.type} checksum mode. `
    throw new Fault('BadDigest', {
      reason: `${reason}The complete request must use the same checksum mode.`,
      typeDiffers: true,
    })
  }
  if (claim !== undefined && claim.parts !== undefined && claim.parts !== parts.length) throw countDiffers(claim)
  const derived = derivedChecksumOf(declared ?? inferredUploadChecksum(type, claim, parts), parts)
  if (claim === undefined) {
    if (declared === undefined && type === 'COMPOSITE' && derived === undefined) throw compositeUnknown()
    return { checksum: derived, unverified: undefined }
  }
  if (derived !== undefined && claim.algorithm === derived.algorithm) {
    if (derived.type === 'FULL_OBJECT' && claim.parts !== undefined) throw countDiffers(claim)
    checkExpectedChecksum(claim, decodeDigest(claim.algorithm, withoutCount(derived.value))!)
    return { checksum: derived, unverified: undefined }
  }
  if (type === 'COMPOSITE' || claim.parts !== undefined) throw compositeUnknown()
  const whole: Checksum = { algorithm: claim.algorithm, type: 'FULL_OBJECT', value: claim.digest.toString('base64') }
  return { checksum: derived ?? whole, unverified: claim }
}

/**
 * R82. An upload that declared no checksum can still have one that its completion requests, if the client sent it with
 * every part.
 */
function inferredUploadChecksum(
  type: ChecksumType | undefined,
  claim: ExpectedChecksum | undefined,
  parts: readonly PartWithChecksum[],
): UploadChecksum | undefined {
  if (type === undefined && claim === undefined) return undefined
  const known = parts[0]?.algorithm
  if (known === undefined || parts.some(({ algorithm }) => algorithm !== known)) return undefined
  const algorithm = checksumAlgorithm(known)
  if (claim !== undefined && claim.algorithm !== algorithm) return undefined
  return { algorithm, type: type ?? (claim?.parts === undefined ? 'FULL_OBJECT' : 'COMPOSITE') }
}

/** R20. CRC64NVME has no composite form. */
const derivedChecksumOf = (of: UploadChecksum | undefined, parts: readonly PartWithChecksum[]): Checksum | undefined =>
  of === undefined || (of.type === 'COMPOSITE' && of.algorithm === 'CRC64NVME') ? undefined : derivedChecksum(of, parts)

const compositeUnknown = (): Fault =>
  new Fault('InvalidRequest', {
    reason: 'A composite checksum requires its algorithm in CreateMultipartUpload, or a value with every part.',
  })

const countDiffers = ({ algorithm }: ExpectedChecksum): Fault =>
  new Fault('BadDigest', { reason: `The ${algorithm} you specified did not match the calculated checksum.` })
