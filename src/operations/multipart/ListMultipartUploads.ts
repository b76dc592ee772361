import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { Upload } from '../../model/upload.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { isUploadName } from '../../store/uploads/upload-record.ts'
import { delimiter, encoding, prefix, type Spell, speller, writeOwner, writePrefixes } from '../bucket/listings.ts'
import type { OperationContext } from '../context.ts'
import { asText, type Decoder, invalidArgument, maybe, operation, pageSize, requires } from '../operation.ts'
import { writeInitiator } from './uploads.ts'

function writeUpload(to: XmlWriter, ctx: OperationContext, upload: Upload, spell: Spell): void {
  to.open('Upload')
  to.leaf('Key', spell(upload.key))
  to.leaf('UploadId', upload.id.toString('hex'))
  writeInitiator(to, ctx, upload)
  writeOwner(to, ctx, upload.owner)
  to.leaf('StorageClass', upload.attributes.storageClass ?? 'STANDARD')
  to.leaf('Initiated', formatTimestamp(upload.initiatedAt))
  to.leaf('ChecksumAlgorithm', upload.checksum?.algorithm)
  to.leaf('ChecksumType', upload.checksum?.type)
  to.close()
}

/** An upload id marks a position only together with its key. */
const uploadMarker: Decoder<string | undefined> = {
  decode(request) {
    const value = request.query('upload-id-marker') ?? ''
    const key = request.query('key-marker') ?? ''
    if (value === '' || key === '') return undefined
    if (isUploadName(key, value)) return value
    throw invalidArgument('upload-id-marker', value, 'Invalid uploadId marker')
  },
}

export const ListMultipartUploads = operation({
  name: 'ListMultipartUploads',
  match: { method: 'GET', on: 'bucket', requires: ['?uploads'] },
  permission: requires('ListBucketMultipartUploads'),
  input: {
    prefix,
    delimiter,
    encoding,
    limit: pageSize('max-uploads'),
    keyMarker: maybe.query('key-marker', asText),
    uploadMarker,
  },
  async run(ctx, input) {
    const { keyMarker } = input
    const inside = input.uploadMarker === undefined ? {} : { uploadId: input.uploadMarker }
    const listed = await ctx.store.listing.uploads({
      bucket: ctx.target.bucket,
      prefix: input.prefix,
      delimiter: input.delimiter,
      limit: input.limit,
      ...(keyMarker === undefined || keyMarker === '' ? {} : { after: { key: keyMarker, ...inside } }),
    })
    const spell = speller(input.encoding)
    const last = listed.items.at(-1)
    const { next } = listed
    return {
      body: {
        root: 'ListMultipartUploadsResult',
        write(to: XmlWriter) {
          to.leaf('Bucket', ctx.target.bucket)
          to.leaf('KeyMarker', spell(keyMarker ?? ''))
          to.leaf('UploadIdMarker', input.uploadMarker ?? '')
          to.leaf('NextKeyMarker', spell(next?.key))
          // A page that ends in a common prefix continues after the prefix, not inside a key.
          if (next !== undefined) to.leaf('NextUploadIdMarker', next.isPrefix ? '' : last!.id.toString('hex'))
          to.leaf('Prefix', spell(input.prefix ?? ''))
          to.leaf('Delimiter', spell(input.delimiter))
          to.leaf('MaxUploads', input.limit)
          to.leaf('IsTruncated', next !== undefined)
          to.leaf('EncodingType', input.encoding)
          for (const upload of listed.items) writeUpload(to, ctx, upload, spell)
          writePrefixes(to, listed.prefixes, spell)
        },
      },
    }
  },
})
