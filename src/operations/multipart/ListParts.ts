import type { XmlWriter } from '../../lib/xml-writer.ts'
import { quotedEtag } from '../../rules/conditional-requests.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { encoding, speller, writeOwner } from '../bucket/listings.ts'
import { abortHeaders } from '../object/attributes.ts'
import { customerKey } from '../object/encryption.ts'
import { asCount, maybe, operation, pageSize, requires } from '../operation.ts'
import { uploadId, uploadName, writeInitiator, writePartChecksum } from './uploads.ts'

export const ListParts = operation({
  name: 'ListParts',
  match: { method: 'GET', on: 'object', requires: ['?uploadId'] },
  permission: requires('ListMultipartUploadParts'),
  ofUpload: true,
  // Listing needs no customer key, but a malformed one is still refused.
  input: {
    uploadId,
    encoding,
    customerKey,
    limit: pageSize('max-parts'),
    after: maybe.query('part-number-marker', asCount),
  },
  async run(ctx, { uploadId: id, encoding: form, limit, after = 0 }) {
    const upload = await ctx.store.uploads.find(uploadName(ctx, id))
    const found = limit === 0 ? [] : await ctx.store.uploads.parts(upload, after, limit + 1)
    const parts = found.slice(0, limit)
    const spell = speller(form)
    return {
      headers: await abortHeaders(ctx, upload.key, upload.initiatedAt),
      body: {
        root: 'ListPartsResult',
        write(to: XmlWriter) {
          to.leaf('Bucket', ctx.target.bucket)
          to.leaf('Key', spell(ctx.target.key))
          to.leaf('UploadId', id)
          writeInitiator(to, ctx, upload)
          writeOwner(to, ctx, upload.owner)
          to.leaf('StorageClass', upload.attributes.storageClass ?? 'STANDARD')
          to.leaf('PartNumberMarker', after)
          to.leaf('NextPartNumberMarker', parts.at(-1)?.number ?? 0)
          to.leaf('MaxParts', limit)
          to.leaf('IsTruncated', found.length > parts.length)
          to.leaf('EncodingType', form)
          to.leaf('ChecksumAlgorithm', upload.checksum?.algorithm)
          to.leaf('ChecksumType', upload.checksum?.type)
          for (const part of parts) {
            to.open('Part')
            to.leaf('PartNumber', part.number)
            to.leaf('LastModified', formatTimestamp(part.modifiedAt))
            to.leaf('ETag', quotedEtag(part.etag))
            to.leaf('Size', part.size)
            writePartChecksum(to, upload, part)
            to.close()
          }
        },
      },
    }
  },
})
