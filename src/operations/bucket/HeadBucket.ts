import { operation, requires } from '../operation.ts'

export const HeadBucket = operation({
  name: 'HeadBucket',
  match: { method: 'HEAD', on: 'bucket' },
  permission: requires('ListBucket'),
  input: {},
  run: async ctx => ({ headers: ctx.behavior.regionOnResponses ? [] : [[':bucket-region', ctx.region]] }),
})
