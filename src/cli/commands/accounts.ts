import { type Command, type Invocation, onServer } from '../command.ts'
import { table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'its 12 digits' }
const COLUMNS = ['accountId', 'displayName', 'email', 'admin', 'disabled', 'createdAt']
const NAMES = [
  { name: 'name', value: 'TEXT', meaning: 'what listings call it' },
  { name: 'email', value: 'ADDRESS', meaning: 'by which it can be granted something' },
]

const accountOf = (call: Invocation): TableRow => ({ accountId: call.argument('ACCOUNT') })

const list = onServer({
  name: 'account list',
  summary: 'all accounts',
  examples: ['account list', 'account list --json'],
  run: showAdminResult(
    'ListAccounts',
    () => ({}),
    answer => table(rows(answer, 'accounts'), COLUMNS),
  ),
})

const create = onServer({
  name: 'account create',
  summary: 'make an account',
  examples: ['account create --name backups', 'account create 111111111111 --name main --email main@example.com'],
  arguments: [{ ...ACCOUNT, meaning: 'its 12 digits; made without', optional: true }],
  flags: [
    ...NAMES,
    { name: 'canonical-id', value: 'HEX', meaning: '64 digits; derived from the account id without' },
    { name: 'admin', meaning: 'its own keys may administer the server' },
    { name: 'again', meaning: 'it is the one that was deleted, with everything that still names it' },
  ],
  run: showAdminResult('CreateAccount', call => ({
    accountId: call.maybeArgument('ACCOUNT'),
    displayName: call.flag('name'),
    email: call.flag('email'),
    canonicalId: call.flag('canonical-id'),
    admin: call.has('admin') || undefined,
    again: call.has('again') || undefined,
  })),
})

const show = onServer({
  name: 'account show',
  summary: 'one account',
  examples: ['account show 111111111111'],
  arguments: [ACCOUNT],
  run: showAdminResult('GetAccount', accountOf),
})

const change = onServer({
  name: 'account change',
  summary: 'change what an account is called, or whether it administers',
  examples: ['account change 111111111111 --name archive', 'account change 111111111111 --admin true'],
  arguments: [ACCOUNT],
  flags: [...NAMES, { name: 'admin', value: 'true|false', meaning: 'its own keys may administer the server' }],
  run: showAdminResult('ChangeAccount', call => ({
    ...accountOf(call),
    displayName: call.flag('name'),
    email: call.flag('email'),
    admin: call.flag('admin'),
  })),
})

const disable = onServer({
  name: 'account disable',
  summary: 'its keys and those of its users open nothing',
  examples: ['account disable 111111111111'],
  arguments: [ACCOUNT],
  run: runAdminCommand(
    'ChangeAccount',
    call => ({ ...accountOf(call), disabled: true }),
    call => `account ${call.argument('ACCOUNT')} is disabled`,
  ),
})

const enable = onServer({
  name: 'account enable',
  summary: 'its keys open again',
  examples: ['account enable 111111111111'],
  arguments: [ACCOUNT],
  run: runAdminCommand(
    'ChangeAccount',
    call => ({ ...accountOf(call), disabled: false }),
    call => `account ${call.argument('ACCOUNT')} is enabled`,
  ),
})

const remove = onServer({
  name: 'account delete',
  summary: 'delete an account without users and buckets, with its keys',
  examples: ['account delete 111111111111'],
  arguments: [ACCOUNT],
  run: runAdminCommand('DeleteAccount', accountOf, call => `account ${call.argument('ACCOUNT')} is deleted`),
})

export const accountCommands: readonly Command[] = [list, create, show, change, disable, enable, remove]
