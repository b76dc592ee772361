/** Who may do what and why; what happened to locks; and the clock by which they end. */
import { explanationJson, explanationText } from '../../rules/explanation.ts'
import { body, booleanField, optionalField, path, textField } from '../input.ts'
import { type Lines, route } from '../route.ts'

export const Explain = route({
  name: 'Explain',
  method: 'POST',
  path: '/v1/explain',
  summary: 'Say whether somebody may do something, and what decides; nothing is done',
  permission: 'admin',
  input: {
    as: optionalField(textField, 'Access key of whoever would do it; a caller without a name without'),
    action: body(textField, 'svc:DeleteObject, s3:DeleteObject or the bare name'),
    bucket: optionalField(textField, 'On which bucket'),
    key: optionalField(textField, 'On which object'),
    versionId: optionalField(textField, 'On which version'),
    bypass: optionalField(booleanField, 'The request asks to set governance retention aside'),
  },
  async run(ctx, { as, ...question }) {
    const explanation = await ctx.explain({ ...question, accessKey: as })
    return { ...explanationJson(explanation), text: explanationText(explanation) }
  },
})

const bucket = path('Name of the bucket, which may be gone; _store for the ledger of the store itself')

/** A line break behind each. The first is there already: what is wrong from the start is a fault, no broken answer. */
async function* ended(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield `${first}\n`
  for await (const line of rest) yield `${line}\n`
}

export const ExportLedger = route({
  name: 'ExportLedger',
  method: 'GET',
  path: '/v1/ledgers/{bucket}',
  summary: 'Everything that happened to the locks of a bucket: a header, the entries, a signed end; a line each',
  permission: 'admin',
  input: { bucket },
  async run(ctx, input): Promise<Lines> {
    const lines = ctx.store.ledger.export(input.bucket)
    const header = await lines.next()
    return { contentType: 'application/x-ndjson', lines: ended(header.value, lines) }
  },
})

export const VerifyLedger = route({
  name: 'VerifyLedger',
  method: 'GET',
  path: '/v1/ledgers/{bucket}/verdict',
  summary: 'Whether the stored ledger of a bucket is whole and signed by this store',
  permission: 'admin',
  input: { bucket },
  run: async (ctx, input) => ctx.store.ledger.verify(input.bucket),
})

export const ListLedgers = route({
  name: 'ListLedgers',
  method: 'GET',
  path: '/v1/ledgers',
  summary: 'Names of ledgers: buckets that ever had a lock, also those that are gone; and the key that signs them',
  permission: 'admin',
  input: {},
  async run(ctx) {
    const buckets: string[] = []
    for (let page = await ctx.store.ledger.buckets(); page.length > 0; ) {
      buckets.push(...page)
      page = await ctx.store.ledger.buckets(page.at(-1))
    }
    return { publicKey: ctx.store.ledger.publicKey, buckets }
  },
})

const shownClock = (state: { readonly clock: number; readonly lockTime: number; readonly jumped: boolean }) => ({
  clock: new Date(state.clock).toISOString(),
  lockTime: new Date(state.lockTime).toISOString(),
  jumped: state.jumped,
})

export const GetClock = route({
  name: 'GetClock',
  method: 'GET',
  path: '/v1/clock',
  summary: 'The clock, and the time by which locks end: they differ when the clock has jumped',
  permission: 'admin',
  input: {},
  run: async ctx => shownClock(await ctx.store.context.lockClock.state()),
})

export const ConfirmClock = route({
  name: 'ConfirmClock',
  method: 'POST',
  path: '/v1/clock/confirm',
  summary: 'Say that the clock is right: locks end by it from now on',
  permission: 'admin',
  input: {},
  async run(ctx) {
    await ctx.store.context.lockClock.confirm(ctx.store.context)
    return shownClock(await ctx.store.context.lockClock.state())
  },
})
