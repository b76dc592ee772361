/** Routes of ledgers and the lock clock. */
import { path, positiveInteger, query } from '../input.ts'
import { type LineStream, route } from '../route.ts'
import { COUNT, listOf, objectOf, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

const bucket = path('Name of the bucket, which may be deleted; _store for the ledger of the store itself')

/** Appends line breaks. The first line is read in advance, so that early errors become an error response. */
async function* ended(first: string, rest: AsyncIterable<string>): AsyncGenerator<string> {
  yield `${first}\n`
  for await (const line of rest) yield `${line}\n`
}

export const ExportLedger = route({
  name: 'ExportLedger',
  method: 'GET',
  path: '/v1/ledgers/{bucket}',
  summary: 'Export the ledger of a bucket: a header, the entries and a signed closing line, one line each',
  permission: 'admin',
  input: { bucket },
  async run(ctx, input): Promise<LineStream> {
    const lines = ctx.store.ledger.export(input.bucket)
    const header = await lines.next()
    return { contentType: 'application/x-ndjson', lines: ended(header.value, lines) }
  },
})

const LINES_MAX = 1000

export const ListLedgerEntries = route({
  name: 'ListLedgerEntries',
  method: 'GET',
  path: '/v1/ledgers/{bucket}/entries',
  summary: 'List lines of the ledger with its header and its signed head, to verify them elsewhere',
  permission: 'admin',
  input: {
    bucket,
    after: query(positiveInteger, 'Only entries after this sequence number'),
    limit: query(positiveInteger, `${LINES_MAX} at most`),
  },
  answer: objectOf({ header: TEXT, lines: listOf(TEXT), closing: TEXT, entries: COUNT }),
  run: (ctx, { bucket: name, after = 0, limit = LINES_MAX }) =>
    ctx.store.ledger.page(name, after, Math.min(limit, LINES_MAX)),
})

export const VerifyLedger = route({
  name: 'VerifyLedger',
  method: 'GET',
  path: '/v1/ledgers/{bucket}/verdict',
  summary: 'Verify that the stored ledger of a bucket is complete and signed by this store',
  permission: 'admin',
  input: { bucket },
  run: async (ctx, input) => ctx.store.ledger.verify(input.bucket),
})

export const ListLedgers = route({
  name: 'ListLedgers',
  method: 'GET',
  path: '/v1/ledgers',
  summary: 'List the ledgers, which outlive their buckets, and the key that signs them',
  permission: 'admin',
  answer: objectOf({ publicKey: TEXT, buckets: listOf(TEXT) }),
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

const CLOCK = objectOf({ clock: TIME, lockTime: TIME, jumped: YES_OR_NO })

const shownClock = (state: { readonly clock: number; readonly lockTime: number; readonly jumped: boolean }) => ({
  clock: new Date(state.clock).toISOString(),
  lockTime: new Date(state.lockTime).toISOString(),
  jumped: state.jumped,
})

export const GetClock = route({
  name: 'GetClock',
  method: 'GET',
  path: '/v1/clock',
  summary: 'Get the clock and the lock time, which differ after the clock has jumped',
  permission: 'admin',
  answer: CLOCK,
  input: {},
  run: async ctx => shownClock(await ctx.store.context.lockClock.state()),
})

export const ConfirmClock = route({
  name: 'ConfirmClock',
  method: 'POST',
  path: '/v1/clock/confirm',
  summary: 'Confirm that the clock is right, so that locks end by it',
  permission: 'admin',
  answer: CLOCK,
  input: {},
  async run(ctx) {
    await ctx.store.context.lockClock.confirm(ctx.store.context)
    return shownClock(await ctx.store.context.lockClock.state())
  },
})
