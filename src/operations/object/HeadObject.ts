import { operation, requiresForVersion } from '../operation.ts'
import { checkOverrides, planRead, readInput } from './GetObject.ts'

export const HeadObject = operation({
  name: 'HeadObject',
  match: { method: 'HEAD', on: 'object' },
  permission: requiresForVersion('GetObject', 'GetObjectVersion'),
  input: readInput,
  async run(ctx, input) {
    checkOverrides(ctx, input.overrides)
    // Opened as for reading: the customer key must match, and the part table must not be freed while it is read.
    const handle = await ctx.store.objects.open(ctx.target, input.key?.key)
    try {
      let plan = planRead(ctx, handle, input)
      if (plan instanceof Promise) plan = await plan
      const { headers, status, start, end } = plan
      headers.push(['content-length', end - start])
      return { status, headers }
    } finally {
      handle.close()
    }
  },
})
