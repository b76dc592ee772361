import { needs, operation } from '../operation.ts'

export const HeadBucket = operation({
  name: 'HeadBucket',
  match: { method: 'HEAD', on: 'bucket' },
  permission: needs('ListBucket'),
  input: {},
  run: async ctx => ({ headers: ctx.behavior.regionOnAnswers ? [] : [[':bucket-region', ctx.region]] }),
})
