import type { BodyDigest } from '../../digest/body-digest.ts'
import type { Checksum } from '../../model/version.ts'
import type { RunningDigest } from './ingest.ts'

/** Observes a body as it arrives and may reject it at its end. */
export interface BodyInspector extends RunningDigest {
  /** Throws a fault when the body does not match the client's declarations; resolves to the checksum to store. */
  end(md5: Buffer): Promise<Checksum | undefined>
}

/** Completes the digests of a body; throws when it does not match the client's declarations. */
export async function inspectBody(
  md5: BodyDigest,
  inspection: BodyInspector | undefined,
): Promise<{ readonly digest: Buffer; readonly checksum: Checksum | undefined }> {
  try {
    const digest = await md5.digest()
    return { digest, checksum: await inspection?.end(digest) }
  } finally {
    inspection?.abandon()
  }
}
