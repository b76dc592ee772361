import { type Command, type CommandResult, type Invocation, onServer } from '../command.ts'
import { facts, table } from '../output.ts'
import { runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const BUCKET = { name: 'BUCKET', meaning: 'bucket name' }
const COLUMNS = ['name', 'owner', 'versioning', 'lockEnabled', 'createdAt', 'objects', 'versions', 'versionBytes']

/** Shown after an upgrade from a version that kept no counters, until the first count is done. */
const UNCOUNTED = { objects: 'being counted', versions: 'being counted', bytes: 'being counted' }

const bucketOf = (call: Invocation): TableRow => ({ bucket: call.argument('BUCKET') })

/** Puts the usage next to the other fields. */
function flat({ usage, ...bucket }: TableRow): TableRow {
  return { ...bucket, ...(usage ?? {}) }
}

/** Reads every page of the listing. */
async function allBuckets(call: Invocation): Promise<TableRow[]> {
  const admin = await call.admin()
  const found: TableRow[] = []
  for (let after: unknown; ; ) {
    const page = await admin.ask('ListBuckets', { accountId: call.flag('account'), after })
    found.push(...(page.buckets as TableRow[]))
    if (page.next === undefined) return found
    after = page.next
  }
}

const list = onServer({
  name: 'bucket list',
  summary: 'list all buckets, or those of one account',
  examples: ['bucket list', 'bucket list --account 111111111111'],
  flags: [{ name: 'account', value: 'ACCOUNT', meaning: 'only the buckets of this account' }],
  async run(call): Promise<CommandResult> {
    const buckets = await allBuckets(call)
    return { value: { buckets }, text: table(buckets.map(flat), COLUMNS) }
  },
})

const create = onServer({
  name: 'bucket create',
  summary: 'create a bucket',
  examples: ['bucket create photos', 'bucket create evidence --account 111111111111 --lock'],
  arguments: [BUCKET],
  flags: [
    { name: 'account', value: 'ACCOUNT', meaning: 'owner; the root account if omitted' },
    { name: 'lock', meaning: 'enable object lock and versioning' },
    { name: 'versioning', meaning: 'enable versioning' },
  ],
  run: showAdminResult('CreateBucket', call => ({
    name: call.argument('BUCKET'),
    accountId: call.flag('account'),
    lock: call.has('lock') || undefined,
    versioning: call.has('versioning') || undefined,
  })),
})

const info = onServer({
  name: 'bucket info',
  summary: 'show the settings and the usage of a bucket',
  examples: ['bucket info photos'],
  arguments: [BUCKET],
  run: showAdminResult('GetBucket', bucketOf, result => facts(flat({ ...result, usage: result.usage ?? UNCOUNTED }))),
})

const versioning = onServer({
  name: 'bucket versioning',
  summary: 'enable or suspend versioning',
  examples: ['bucket versioning photos on'],
  arguments: [BUCKET, { name: 'on|suspended', meaning: 'new state' }],
  run: showAdminResult('SetVersioning', call => ({ ...bucketOf(call), versioning: call.argument('on|suspended') })),
})

const lock = onServer({
  name: 'bucket lock',
  summary: 'enable object lock, permanently, and set the default retention of new versions',
  examples: ['bucket lock evidence', 'bucket lock evidence --mode governance --days 30'],
  arguments: [BUCKET],
  flags: [
    {
      name: 'mode',
      value: 'governance|compliance',
      meaning: 'mode of the default retention; no default retention if omitted',
    },
    { name: 'days', value: 'N', meaning: 'length of the default retention' },
  ],
  run: showAdminResult('SetLock', call => ({ ...bucketOf(call), mode: call.flag('mode'), days: call.flag('days') })),
})

const remove = onServer({
  name: 'bucket delete',
  summary: 'delete an empty bucket',
  examples: ['bucket delete photos'],
  arguments: [BUCKET],
  run: runAdminCommand('DeleteBucket', bucketOf, call => `bucket ${call.argument('BUCKET')} is deleted`),
})

export const bucketCommands: readonly Command[] = [list, create, info, versioning, lock, remove]
