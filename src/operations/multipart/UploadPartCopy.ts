import type { XmlWriter } from '../../lib/xml-writer.ts'
import type { Version } from '../../model/version.ts'
import { quotedEtag } from '../../rules/conditional-requests.ts'
import { formatTimestamp } from '../../rules/http-date.ts'
import { copyRange } from '../../rules/range.ts'
import {
  checkSource,
  checkSourceSize,
  copySource,
  enterSource,
  readingSource,
  sourceConditions,
  sourceHeaders,
  sourcePermissions,
} from '../object/copy-source.ts'
import {
  checkSameEncryption,
  checkUploadKey,
  customerKey,
  encryptionHeaders,
  sourceCustomerKey,
} from '../object/encryption.ts'
import { maybe, operation } from '../operation.ts'
import { refuseBody, requiredPartNumber, uploadId, uploadName, writePartChecksum } from './uploads.ts'

export const UploadPartCopy = operation({
  name: 'UploadPartCopy',
  match: { method: 'PUT', on: 'object', requires: ['?partNumber', '?uploadId', ':copy-source'] },
  permission: request => [...sourcePermissions(request), { action: 'PutObject' }],
  anonymousNeedsPolicy: true,
  createsObject: false,
  input: {
    partNumber: requiredPartNumber,
    uploadId,
    customerKey,
    source: copySource,
    sourceKey: sourceCustomerKey,
    conditions: sourceConditions,
    range: maybe.header(':copy-source-range', copyRange),
  },
  async run(ctx, input) {
    await refuseBody(ctx)
    const { source: from, sourceKey, range, customerKey: own } = input
    const sourceBucket = await enterSource(ctx, from)
    const name = uploadName(ctx, input.uploadId)
    const upload = await ctx.store.uploads.find(name)
    checkUploadKey(upload, own, true)
    checkSameEncryption(upload, ctx.request)
    let read: Version | undefined
    const part = await readingSource(() =>
      ctx.store.uploads.copyPart({
        ...name,
        number: input.partNumber,
        from,
        check(source) {
          checkSource(input.conditions, sourceKey !== undefined, source)
          if (range === undefined) checkSourceSize(ctx, source.size)
          read = source
        },
        beforeRead: source =>
          ctx.allowEarlyResponse([...encryptionHeaders(upload), ...sourceHeaders(sourceBucket, source)]),
        ...(sourceKey === undefined ? {} : { sourceCustomerKey: sourceKey.key }),
        ...(own === undefined ? {} : { customerKey: own.key, customerKeyMd5: own.md5 }),
        ...(range === undefined ? {} : { range }),
      }),
    )
    return {
      headers: [...encryptionHeaders(upload), ...(read === undefined ? [] : sourceHeaders(sourceBucket, read))],
      body: {
        root: 'CopyPartResult',
        write(to: XmlWriter) {
          to.leaf('ETag', quotedEtag(part.etag))
          to.leaf('LastModified', formatTimestamp(part.modifiedAt))
          writePartChecksum(to, upload, part)
        },
      },
    }
  },
})
