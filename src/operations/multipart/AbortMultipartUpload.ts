import { operation, requires } from '../operation.ts'
import { uploadId, uploadName } from './uploads.ts'

/** R98. Returns 204 without a body. */
export const AbortMultipartUpload = operation({
  name: 'AbortMultipartUpload',
  match: { method: 'DELETE', on: 'object', requires: ['?uploadId'] },
  permission: requires('AbortMultipartUpload'),
  ofUpload: true,
  input: { uploadId },
  async run(ctx, input) {
    await ctx.store.uploads.abort(uploadName(ctx, input.uploadId))
    return { status: 204 }
  },
})
