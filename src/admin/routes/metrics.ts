/** The metrics in the Prometheus text format. */
import { exposition, isPublicFamily } from '../../telemetry/families.ts'
import { type AdminContext, type LineStream, route } from '../route.ts'

type Extent = 'everything' | 'without names'

async function* text({ collectMetrics }: Pick<AdminContext, 'collectMetrics'>, extent: Extent): AsyncGenerator<string> {
  const samples = await collectMetrics()
  yield exposition(extent === 'everything' ? samples : samples.filter(isPublicFamily))
}

export const metricsText = (ctx: Pick<AdminContext, 'collectMetrics'>, extent: Extent): LineStream => ({
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  lines: text(ctx, extent),
})

export const GetMetrics = route({
  name: 'GetMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'Get the metrics in the Prometheus text format; the scrape token is accepted too',
  permission: 'scraper',
  input: {},
  run: async ctx => metricsText(ctx, 'everything'),
})
