import { Holdfast } from '../../embedded/holdfast.ts'
import { blobSuite } from '../suite.ts'
import { parseS3Place } from './place.ts'
import { openS3Blobs } from './s3-blobs.ts'

blobSuite({
  name: 's3',
  async open(writer) {
    const hf = await Holdfast.start({ buckets: ['below'], log: () => {} })
    const place = parseS3Place(new URL(`s3://below/blobs?endpoint=${hf.endpoint}`))
    const key = { accessKey: hf.credentials.accessKeyId, secretKey: hf.credentials.secretAccessKey }
    const reopen = async (other: Buffer) => openS3Blobs({ place, key, writer: other })
    return { blobs: await reopen(writer), reopen, destroy: () => hf.close() }
  },
})
