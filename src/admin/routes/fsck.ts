/** Routes of the full check that a running server does. */
import { booleanField, optionalField } from '../input.ts'
import { route } from '../route.ts'
import { COUNT, DAMAGE, listOf, objectOf, oneOfWords, TEXT, TIME, YES_OR_NO } from '../schemas.ts'

const FSCK = objectOf({
  state: oneOfWords('never', 'running', 'done', 'stopped', 'failed'),
  'phase?': oneOfWords('records', 'bytes'),
  'deep?': { ...YES_OR_NO, description: 'Every stored byte is read, too' },
  'startedAt?': TIME,
  'endedAt?': TIME,
  records: { ...COUNT, description: 'Records read so far; some are read more than once' },
  bytes: { ...COUNT, description: 'Stored bytes read so far' },
  'versions?': { ...COUNT, description: 'This and the next two are known once the records have been checked' },
  'blobs?': COUNT,
  'totalBytes?': COUNT,
  held: { ...COUNT, description: 'Versions under a legal hold' },
  problemCount: { ...COUNT, description: 'Broken invariants, wrong counts and damaged records' },
  problems: { ...listOf(TEXT), description: 'The first 1000 of them' },
  damageCount: { ...COUNT, description: 'Locations whose bytes do not match their checksums' },
  damage: { ...listOf(DAMAGE), description: 'The first 1000 of them, with the objects they affect' },
  'error?': TEXT,
})

export const GetFsck = route({
  name: 'GetFsck',
  method: 'GET',
  path: '/v1/fsck',
  summary: 'Get the progress and findings of the last full check',
  permission: 'admin',
  answer: FSCK,
  input: {},
  run: async ctx => ctx.fsck.state,
})

export const StartFsck = route({
  name: 'StartFsck',
  method: 'POST',
  path: '/v1/fsck',
  summary: 'Start a full check over a snapshot of the records, while requests are served; one at a time',
  permission: 'admin',
  answer: FSCK,
  status: 202,
  input: { deep: optionalField(booleanField, 'Also read every stored byte; false when omitted') },
  run: async (ctx, { deep = false }) => ctx.fsck.start(deep),
})

export const StopFsck = route({
  name: 'StopFsck',
  method: 'DELETE',
  path: '/v1/fsck',
  summary: 'Stop the full check; what it has found is kept',
  permission: 'admin',
  answer: FSCK,
  input: {},
  run: async ctx => ctx.fsck.stop(),
})
