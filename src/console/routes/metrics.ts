/** What is measured, as Prometheus reads it. */
import { exposition } from '../../telemetry/families.ts'
import { type AdminContext, type Lines, route } from '../route.ts'

async function* text({ measure }: Pick<AdminContext, 'measure'>): AsyncGenerator<string> {
  yield exposition(await measure())
}

export const measures = (ctx: Pick<AdminContext, 'measure'>): Lines => ({
  contentType: 'text/plain; version=0.0.4; charset=utf-8',
  lines: text(ctx),
})

export const GetMetrics = route({
  name: 'GetMetrics',
  method: 'GET',
  path: '/metrics',
  summary: 'What is measured, in the text format of Prometheus; also with the token for it',
  permission: 'scraper',
  input: {},
  run: async ctx => measures(ctx),
})
