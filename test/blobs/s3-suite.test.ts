import type { Blobs } from '../../src/blobs/blobs.ts'
import { openS3Blobs } from '../../src/blobs/s3/s3-blobs.ts'
import { blobSuite } from '../../src/blobs/suite.ts'
import { Holdfast } from '../../src/embedded/holdfast.ts'
import { BELOW_BUCKET, placeOf } from './s3-fixture.ts'

blobSuite({
  name: 's3 over another Holdfast',
  async open(writer) {
    const hf = await Holdfast.start({ buckets: [BELOW_BUCKET], log: () => {} })
    const { endpoint, credentials } = hf.s3ClientConfig()
    const key = { accessKey: credentials.accessKeyId, secretKey: credentials.secretAccessKey }
    const reopen = async (other: Buffer): Promise<Blobs> =>
      openS3Blobs({ place: placeOf(endpoint), key, writer: other })
    return { blobs: await reopen(writer), reopen, destroy: () => hf.close() }
  },
})
