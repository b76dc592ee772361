import type { XmlWriter } from '../../lib/xml-writer.ts'
import { operation, requires } from '../operation.ts'

export const GetBucketLocation = operation({
  name: 'GetBucketLocation',
  match: { method: 'GET', on: 'bucket', requires: ['?location'] },
  permission: requires('GetBucketLocation'),
  input: {},
  run: async ctx => ({
    body: {
      root: 'LocationConstraint',
      write(to: XmlWriter) {
        if (ctx.region !== 'us-east-1') to.text(ctx.region)
      },
    },
  }),
})
