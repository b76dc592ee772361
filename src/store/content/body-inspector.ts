import type { BodyDigest } from '../../digest/body-digest.ts'
import type { Checksum } from '../../model/version.ts'
import type { RunningDigest } from './ingest.ts'

/** Looks at a body as it comes in, and may refuse it at its end. */
export interface BodyInspector extends RunningDigest {
  /** Throws a fault when the body is not what the client said; resolves to the checksum to keep. */
  end(md5: Buffer): Promise<Checksum | undefined>
}

/** What was found out about a body that has come whole; throws when it is not what the client said. */
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
