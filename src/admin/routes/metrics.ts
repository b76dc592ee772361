/** Routes of the metrics: in the Prometheus text format, and as JSON. */
import { exposition, isPublicFamily, type Sample } from '../../telemetry/families.ts'
import { query, textField, textMap } from '../input.ts'
import { type AdminContext, type LineStream, route } from '../route.ts'
import { DECIMAL, listOf, objectOf, TEXT, TIME } from '../schemas.ts'

type Extent = 'everything' | 'without names'

async function* text({ collectMetrics }: Pick<AdminContext, 'collectMetrics'>, extent: Extent): AsyncGenerator<string> {
  const samples = await collectMetrics()
  yield exposition(extent === 'everything' ? samples : samples.filter(isPublicFamily))
}

export const metricsText = (ctx: Pick<AdminContext, 'collectMetrics'>, extent: Extent): LineStream => ({
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  lines: text(ctx, extent),
})

const SERIES = /^(_bucket|_sum|_count)?(?:\{(.*)\})?$/s
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/gs

const unescaped = (text: string): string => text.replace(/\\(.)/gs, (_, c: string) => (c === 'n' ? '\n' : c))

/** A series of the text format in its parts. */
function sampleShown([family, series, value]: Sample) {
  const [, suffix = '', pairs = ''] = SERIES.exec(series) ?? []
  const labels = Object.fromEntries(Array.from(pairs.matchAll(LABEL), ([, name, text]) => [name, unescaped(text!)]))
  return { name: family + suffix, labels, value }
}

export const GetMetricSamples = route({
  name: 'GetMetricSamples',
  method: 'GET',
  path: '/v1/metrics',
  summary: 'Get the metrics as JSON; with a prefix, only families whose names begin with it',
  permission: 'admin',
  input: { prefix: query(textField, 'For example holdfast_requests; several are separated by commas') },
  answer: objectOf({
    time: TIME,
    samples: listOf(objectOf({ name: TEXT, labels: textMap.schema, value: DECIMAL })),
  }),
  async run(ctx, { prefix = '' }) {
    const prefixes = prefix.split(',')
    const samples = await ctx.collectMetrics()
    const wanted = samples.filter(([family]) => prefixes.some(one => family.startsWith(one)))
    return { time: new Date(ctx.clock.now()).toISOString(), samples: wanted.map(sampleShown) }
  },
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
