import { type Command, onServer } from '../command.ts'
import { facts, table } from '../output.ts'
import { rows, showAdminResult, type TableRow } from './requests.ts'

const COLUMNS = ['accountId', 'buckets', 'objects', 'versions', 'deleteMarkers', 'bytes', 'versionBytes', 'uploadBytes']

function shown(result: TableRow): string {
  const { accounts: _, ...total } = result
  return `${facts(total)}\n\n${table(rows(result, 'accounts'), COLUMNS)}`
}

const usage = onServer({
  name: 'usage',
  summary: 'show objects, versions and bytes stored, in total and by account',
  examples: ['usage', 'usage --account 123456789012'],
  flags: [{ name: 'account', value: 'ACCOUNT', meaning: 'only the buckets of this account' }],
  run: showAdminResult('GetUsage', call => ({ accountId: call.flag('account') }), shown),
})

const info = onServer({
  name: 'server info',
  summary: 'show the version, uptime, certificate and free disk space of the server',
  examples: ['server info'],
  run: showAdminResult('GetServer', () => ({})),
})

export const usageCommands: readonly Command[] = [usage, info]
