/** The server itself. */
import { route } from '../route.ts'

export const GetServer = route({
  name: 'GetServer',
  method: 'GET',
  path: '/v1/server',
  summary: 'What the server is and knows',
  permission: 'admin',
  input: {},
  async run(ctx) {
    const [accounts, buckets] = [await ctx.accounts.list(), await ctx.store.buckets.list()]
    const now = new Date(ctx.clock.now()).toISOString()
    const counts = { accounts: accounts.length, buckets: buckets.length }
    return { ...(await ctx.facts()), region: ctx.region, now, ...counts }
  },
})

export const GetScrub = route({
  name: 'GetScrub',
  method: 'GET',
  path: '/v1/scrub',
  summary: 'How far the last round of scrubbing is, and what it found',
  permission: 'admin',
  input: {},
  run: async ctx => ctx.scrub.state,
})

export const StartScrub = route({
  name: 'StartScrub',
  method: 'POST',
  path: '/v1/scrub',
  summary: 'Read everything that is stored against its checksums; one round at a time',
  permission: 'admin',
  status: 202,
  input: {},
  run: async ctx => ctx.scrub.start(),
})
