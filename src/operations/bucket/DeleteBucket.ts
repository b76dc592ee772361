import { operation, requires } from '../operation.ts'

export const DeleteBucket = operation({
  name: 'DeleteBucket',
  match: { method: 'DELETE', on: 'bucket' },
  permission: requires('DeleteBucket'),
  input: {},
  async run(ctx) {
    await ctx.store.buckets.remove(ctx.target.bucket)
    return { status: 204 }
  },
})
