/** Routes of the server itself. */
import { route } from '../route.ts'

export const GetServer = route({
  name: 'GetServer',
  method: 'GET',
  path: '/v1/server',
  summary: 'Get facts about the server',
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
  summary: 'Get the progress and findings of the last scrub round',
  permission: 'admin',
  input: {},
  run: async ctx => ctx.scrub.state,
})

export const StartScrub = route({
  name: 'StartScrub',
  method: 'POST',
  path: '/v1/scrub',
  summary: 'Start a scrub, which checks all stored data against its checksums; one round at a time',
  permission: 'admin',
  status: 202,
  input: {},
  run: async ctx => ctx.scrub.start(),
})
