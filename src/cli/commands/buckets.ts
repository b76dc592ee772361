import { type Command, type CommandResult, type Invocation, onServer } from '../command.ts'
import { facts, table } from '../output.ts'
import { runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const BUCKET = { name: 'BUCKET', meaning: 'its name' }
const COLUMNS = ['name', 'owner', 'versioning', 'lockEnabled', 'createdAt', 'objects', 'versions', 'versionBytes']

/** Right after an upgrade from a version without counters. */
const UNCOUNTED = { objects: 'being counted', versions: 'being counted', bytes: 'being counted' }

const bucketOf = (call: Invocation): TableRow => ({ bucket: call.argument('BUCKET') })

/** With what it holds beside what it is. */
function flat({ usage, ...bucket }: TableRow): TableRow {
  return { ...bucket, ...(usage ?? {}) }
}

/** All pages. */
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
  summary: 'all buckets, or those of one account',
  examples: ['bucket list', 'bucket list --account 111111111111'],
  flags: [{ name: 'account', value: 'ACCOUNT', meaning: 'only the buckets of this account' }],
  async run(call): Promise<CommandResult> {
    const buckets = await allBuckets(call)
    return { value: { buckets }, text: table(buckets.map(flat), COLUMNS) }
  },
})

const create = onServer({
  name: 'bucket create',
  summary: 'make a bucket',
  examples: ['bucket create photos', 'bucket create evidence --account 111111111111 --lock'],
  arguments: [BUCKET],
  flags: [
    { name: 'account', value: 'ACCOUNT', meaning: 'its owner; the root account without' },
    { name: 'lock', meaning: 'holds and retention are possible, and versioning is on' },
    { name: 'versioning', meaning: 'versioning is on' },
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
  summary: 'everything that is set on a bucket, and how much it holds',
  examples: ['bucket info photos'],
  arguments: [BUCKET],
  run: showAdminResult('GetBucket', bucketOf, answer => facts(flat({ ...answer, usage: answer.usage ?? UNCOUNTED }))),
})

const versioning = onServer({
  name: 'bucket versioning',
  summary: 'switch versioning on, or suspend it',
  examples: ['bucket versioning photos on'],
  arguments: [BUCKET, { name: 'on|suspended', meaning: 'what it shall be' }],
  run: showAdminResult('SetVersioning', call => ({ ...bucketOf(call), versioning: call.argument('on|suspended') })),
})

const lock = onServer({
  name: 'bucket lock',
  summary: 'switch locks on, for good, and set the retention that new versions get',
  examples: ['bucket lock evidence', 'bucket lock evidence --mode governance --days 30'],
  arguments: [BUCKET],
  flags: [
    { name: 'mode', value: 'governance|compliance', meaning: 'of the retention; none without' },
    { name: 'days', value: 'N', meaning: 'of the retention' },
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
