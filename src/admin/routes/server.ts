/** Routes of the server itself. */
import { parseRecordKey } from '../../store/commit/record-keys.ts'
import type { Schema } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, DECIMAL, listOf, objectOf, SCRUB, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

export const GetServer = route({
  name: 'GetServer',
  method: 'GET',
  path: '/v1/server',
  summary: 'Get facts about the server',
  permission: 'admin',
  answer: objectOf({
    version: TEXT,
    runtime: TEXT,
    'startedAt?': TIME,
    'uptimeSeconds?': COUNT,
    'ready?': YES_OR_NO,
    'certificateExpiresAt?': TIME,
    filesystems: listOf(
      objectOf({ folder: TEXT, totalBytes: COUNT, freeBytes: COUNT, files: COUNT, freeFiles: COUNT }),
    ),
    region: TEXT,
    now: TIME,
    accounts: COUNT,
    buckets: COUNT,
  }),
  input: {},
  async run(ctx) {
    const [accounts, buckets] = [await ctx.accounts.list(), await ctx.store.buckets.list()]
    const now = new Date(ctx.clock.now()).toISOString()
    const counts = { accounts: accounts.length, buckets: buckets.length }
    return { ...(await ctx.facts()), region: ctx.region, now, ...counts }
  },
})

const SHOWN_MAX = 1000

const kindOf = (record: Buffer): string => String.fromCharCode(record[0]!)

/** Records of versions name their object; others have only their key. */
function lossShown(record: Buffer) {
  const kind = kindOf(record)
  if (!['o', 'v', 'h'].includes(kind)) return { kind, record: record.toString('hex') }
  const { bucket, name } = parseRecordKey(record)
  return { kind, bucket, key: name }
}

export const GetDamage = route({
  name: 'GetDamage',
  method: 'GET',
  path: '/v1/damage',
  summary: 'Get damage with the objects it affects: found by the last scrub, and records lost from the metadata',
  permission: 'admin',
  answer: objectOf({
    scrub: SCRUB,
    lostRecords: COUNT,
    lost: listOf(objectOf({ kind: TEXT, 'bucket?': TEXT, 'key?': TEXT, 'record?': TEXT })),
    incompleteKinds: listOf(TEXT),
  }),
  input: {},
  async run(ctx) {
    const { keys, more } = ctx.store.context.losses.known
    return {
      scrub: ctx.scrub.state,
      lostRecords: keys.length,
      lost: keys.slice(0, SHOWN_MAX).map(lossShown),
      incompleteKinds: more.map(kind => String.fromCharCode(kind)),
    }
  },
})

export const ListProcesses = route({
  name: 'ListProcesses',
  method: 'GET',
  path: '/v1/processes',
  summary: 'List the processes that serve requests',
  permission: 'admin',
  answer: objectOf({
    processes: listOf(
      objectOf({
        pid: COUNT,
        startedAt: TIME,
        listening: YES_OR_NO,
        'residentBytes?': COUNT,
        'cpuSeconds?': DECIMAL,
        'requestsInFlight?': COUNT,
      }),
    ),
  }),
  input: {},
  run: async ctx => ({ processes: (await ctx.inspection?.processes()) ?? [] }),
})

/** A text, a number, yes or no, or a list of texts. */
const SETTING: Schema = { oneOf: [TEXT, DECIMAL, YES_OR_NO, listOf(TEXT)] }

export const GetSettings = route({
  name: 'GetSettings',
  method: 'GET',
  path: '/v1/settings',
  summary: 'Get the settings that the server runs with, without secrets',
  permission: 'admin',
  answer: objectOf({ settings: { type: 'object', additionalProperties: SETTING } }),
  input: {},
  run: async ctx => ({ settings: ctx.inspection?.settings ?? {} }),
})

export const GetScrub = route({
  name: 'GetScrub',
  method: 'GET',
  path: '/v1/scrub',
  summary: 'Get the progress and findings of the last scrub round',
  permission: 'admin',
  answer: SCRUB,
  input: {},
  run: async ctx => ctx.scrub.state,
})

export const StartScrub = route({
  name: 'StartScrub',
  method: 'POST',
  path: '/v1/scrub',
  summary: 'Start a scrub, which checks all stored data against its checksums; one round at a time',
  permission: 'admin',
  answer: SCRUB,
  status: 202,
  input: {},
  run: async ctx => ctx.scrub.start(),
})
