/** What is measured, as Prometheus reads it. */
import { exposition, isPublicFamily } from '../../telemetry/families.ts'
import { type AdminContext, type Lines, route } from '../route.ts'

type Extent = 'everything' | 'without names'

async function* text({ measure }: Pick<AdminContext, 'measure'>, extent: Extent): AsyncGenerator<string> {
  const samples = await measure()
  yield exposition(extent === 'everything' ? samples : samples.filter(isPublicFamily))
}

export const metricsText = (ctx: Pick<AdminContext, 'measure'>, extent: Extent): Lines => ({
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  lines: text(ctx, extent),
})

export const GetMetrics = route({
  name: 'GetMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'What is measured, in the text format of Prometheus; also with the token for it',
  permission: 'scraper',
  input: {},
  run: async ctx => metricsText(ctx, 'everything'),
})
