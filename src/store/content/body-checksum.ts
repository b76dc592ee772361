import { BodyDigest } from '../../digest/body-digest.ts'
import { type ChecksumAlgorithm, startHasher } from '../../rules/checksum.ts'
import type { RunningDigest } from './ingest.ts'

/** A running checksum. Cryptographic ones of large bodies run on digest threads, the others inline. */
export interface BodyChecksum extends RunningDigest {
  digest(): Promise<Buffer>
}

export function bodyChecksum(algorithm: ChecksumAlgorithm): BodyChecksum {
  if (algorithm === 'SHA1') return new BodyDigest('sha1')
  if (algorithm === 'SHA256') return new BodyDigest('sha256')
  const hasher = startHasher(algorithm)
  return {
    update(chunk) {
      hasher.update(chunk)
      return undefined
    },
    digest: async () => hasher.digest(),
    abandon: () => {},
  }
}

/** The checksum of bytes that are read for no other purpose. */
export async function streamChecksum(algorithm: ChecksumAlgorithm, bytes: AsyncIterable<Buffer>): Promise<Buffer> {
  const sum = bodyChecksum(algorithm)
  try {
    for await (const chunk of bytes) await sum.update(chunk)
    return await sum.digest()
  } finally {
    sum.abandon()
  }
}
