import { type Call, type Command, type Outcome, onServer } from '../command.ts'
import { facts, table } from '../output.ts'
import { doing, type Row, showing } from './asking.ts'

const BUCKET = { name: 'BUCKET', meaning: 'its name' }
const COLUMNS = ['name', 'owner', 'versioning', 'lockEnabled', 'createdAt', 'objects', 'versions', 'versionBytes']

/** Right after an upgrade from a version without counters. */
const UNCOUNTED = { objects: 'being counted', versions: 'being counted', bytes: 'being counted' }

const bucketOf = (call: Call): Row => ({ bucket: call.argument('BUCKET') })

/** With what it holds beside what it is. */
function flat({ usage, ...bucket }: Row): Row {
  return { ...bucket, ...(usage ?? {}) }
}

/** All pages. */
async function allBuckets(call: Call): Promise<Row[]> {
  const admin = await call.admin()
  const found: Row[] = []
  for (let after: unknown; ; ) {
    const page = await admin.ask('ListBuckets', { accountId: call.flag('account'), after })
    found.push(...(page.buckets as Row[]))
    if (page.next === undefined) return found
    after = page.next
  }
}

const list = onServer({
  name: 'bucket list',
  summary: 'all buckets, or those of one account',
  examples: ['bucket list', 'bucket list --account 111111111111'],
  flags: [{ name: 'account', value: 'ACCOUNT', meaning: 'only the buckets of this account' }],
  async run(call): Promise<Outcome> {
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
  run: showing('CreateBucket', call => ({
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
  run: showing('GetBucket', bucketOf, answer => facts(flat({ ...answer, usage: answer.usage ?? UNCOUNTED }))),
})

const versioning = onServer({
  name: 'bucket versioning',
  summary: 'switch versioning on, or suspend it',
  examples: ['bucket versioning photos on'],
  arguments: [BUCKET, { name: 'on|suspended', meaning: 'what it shall be' }],
  run: showing('SetVersioning', call => ({ ...bucketOf(call), versioning: call.argument('on|suspended') })),
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
  run: showing('SetLock', call => ({ ...bucketOf(call), mode: call.flag('mode'), days: call.flag('days') })),
})

const remove = onServer({
  name: 'bucket delete',
  summary: 'delete an empty bucket',
  examples: ['bucket delete photos'],
  arguments: [BUCKET],
  run: doing('DeleteBucket', bucketOf, call => `bucket ${call.argument('BUCKET')} is deleted`),
})

export const bucketCommands: readonly Command[] = [list, create, info, versioning, lock, remove]
