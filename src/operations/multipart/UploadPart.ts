import { quotedEtag } from '../../rules/conditional-requests.ts'
import { LIMITS } from '../../rules/limits.ts'
import type { Header } from '../context.ts'
import { checkPartIntegrityHeaders, integrityChecks, requirePartChecksum } from '../integrity.ts'
import { checkSameEncryption, checkUploadKey, customerKey, encryptionHeaders } from '../object/encryption.ts'
import { bodyLength, refuseMissingSource } from '../object/PutObject.ts'
import { operation, requires } from '../operation.ts'
import { checksumHeader, declaredChecksum, requiredPartNumber, uploadId, uploadName } from './uploads.ts'

/** R73. Stores or replaces one part. */
export const UploadPart = operation({
  name: 'UploadPart',
  match: { method: 'PUT', on: 'object', requires: ['?partNumber', '?uploadId'] },
  permission: requires('PutObject'),
  createsObject: false,
  input: { partNumber: requiredPartNumber, uploadId, customerKey },
  async run(ctx, input) {
    refuseMissingSource(ctx.request)
    const bytesExpected = bodyLength(ctx, LIMITS.partBytesMax)
    const name = uploadName(ctx, input.uploadId)
    checkPartIntegrityHeaders(ctx)
    const upload = await ctx.store.uploads.find(name)
    checkUploadKey(upload, input.customerKey, true)
    checkSameEncryption(upload, ctx.request)
    const declared = declaredChecksum(upload)
    if (declared !== undefined) requirePartChecksum(ctx, declared)
    const checks = integrityChecks(ctx.request, ctx.body, declared?.algorithm)
    const summed: Header[] = []
    const part = await ctx.store.uploads.putPart({
      ...name,
      number: input.partNumber,
      body: ctx.body.stream,
      bytesExpected,
      ...(input.customerKey === undefined
        ? {}
        : { customerKey: input.customerKey.key, customerKeyMd5: input.customerKey.md5 }),
      inspection: {
        update: chunk => checks.update(chunk),
        abandon: () => checks.abandon(),
        async end(md5) {
          const checksum = await checks.end(md5)
          if (checksum !== undefined) summed.push([checksumHeader(checksum.algorithm), checksum.value])
          return checksum
        },
      },
    })
    return { headers: [['etag', quotedEtag(part.etag)], ...summed, ...encryptionHeaders(upload)] }
  },
})
