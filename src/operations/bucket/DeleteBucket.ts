import { needs, operation } from '../operation.ts'

export const DeleteBucket = operation({
  name: 'DeleteBucket',
  match: { method: 'DELETE', on: 'bucket' },
  permission: needs('DeleteBucket'),
  input: {},
  async run(ctx) {
    await ctx.store.buckets.remove(ctx.target.bucket)
    return { status: 204 }
  },
})
