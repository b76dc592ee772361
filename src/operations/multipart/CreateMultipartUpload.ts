import type { XmlWriter } from '../../lib/xml-writer.ts'
import { callerName } from '../../model/caller.ts'
import { uploadChecksum } from '../../rules/checksum.ts'
import {
  abortHeaders,
  checkLock,
  newObjectInputs,
  newObjectPermissions,
  ownerAndGrants,
  tagSet,
} from '../object/attributes.ts'
import { contextHeader, effectiveEncryption, encryptionHeaders } from '../object/encryption.ts'
import { operation } from '../operation.ts'
import { directive, refuseBody } from './uploads.ts'

export const CreateMultipartUpload = operation({
  name: 'CreateMultipartUpload',
  match: { method: 'POST', on: 'object', requires: ['?uploads'] },
  // R70. The permission to write the object, and those that the headers require.
  permission: newObjectPermissions,
  anonymousNeedsPolicy: true,
  createsObject: false,
  storesTagsAndLock: true,
  foldsFaults: true,
  input: {
    ...newObjectInputs,
    tags: tagSet,
    checksum: {
      decode: request => uploadChecksum(request.header(':checksum-algorithm'), request.header(':checksum-type')),
    },
    // There is no source here: the directive is validated and otherwise ignored.
    directive: directive('metadata-directive', 'InvalidRequest'),
  },
  async run(ctx, { requestedEncryption, lock, checksum, directive: _, ...attributes }) {
    await refuseBody(ctx)
    // R64. Owner and ACL are those of the future object.
    const { owner, grants } = ownerAndGrants(ctx)
    checkLock(ctx, lock)
    const encryption = await effectiveEncryption(ctx, requestedEncryption, 'InvalidRequest')
    const { bucket, key } = ctx.target
    const upload = await ctx.store.uploads.create({
      bucket,
      key,
      initiator: callerName(ctx.caller),
      owner,
      attributes: { ...attributes, grants },
      lock,
      ...(encryption === undefined ? {} : { encryption }),
      ...(checksum === undefined ? {} : { checksum }),
    })
    return {
      headers: [
        ...encryptionHeaders(upload),
        contextHeader(upload),
        ...(await abortHeaders(ctx, key, upload.initiatedAt)),
        [':checksum-algorithm', checksum?.algorithm],
        [':checksum-type', checksum?.type],
      ],
      body: {
        root: 'InitiateMultipartUploadResult',
        write(to: XmlWriter) {
          to.leaf('Bucket', bucket)
          to.leaf('Key', key)
          to.leaf('UploadId', upload.id.toString('hex'))
        },
      },
    }
  },
})
