import { type Command, type Invocation, onServer } from '../command.ts'
import { table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'account id, 12 digits' }
const COLUMNS = ['accountId', 'displayName', 'email', 'admin', 'disabled', 'createdAt']
const NAMES = [
  { name: 'name', value: 'TEXT', meaning: 'display name' },
  { name: 'email', value: 'ADDRESS', meaning: 'email address that ACL grants may name' },
]

const accountOf = (call: Invocation): TableRow => ({ accountId: call.argument('ACCOUNT') })

const list = onServer({
  name: 'account list',
  summary: 'list all accounts',
  examples: ['account list', 'account list --json'],
  run: showAdminResult(
    'ListAccounts',
    () => ({}),
    result => table(rows(result, 'accounts'), COLUMNS),
  ),
})

const create = onServer({
  name: 'account create',
  summary: 'create an account',
  examples: ['account create --name backups', 'account create 111111111111 --name main --email main@example.com'],
  arguments: [{ ...ACCOUNT, meaning: 'account id, 12 digits; generated if omitted', optional: true }],
  flags: [
    ...NAMES,
    { name: 'canonical-id', value: 'HEX', meaning: '64 hex digits; derived from the account id if omitted' },
    { name: 'admin', meaning: "let the account's own keys administer the server" },
    { name: 'again', meaning: 'recreate a deleted account; grants and policies that name it apply again' },
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
  summary: 'show an account',
  examples: ['account show 111111111111'],
  arguments: [ACCOUNT],
  run: showAdminResult('GetAccount', accountOf),
})

const change = onServer({
  name: 'account change',
  summary: 'change the name, the email address or the admin right of an account',
  examples: ['account change 111111111111 --name archive', 'account change 111111111111 --admin true'],
  arguments: [ACCOUNT],
  flags: [...NAMES, { name: 'admin', value: 'true|false', meaning: 'whether its own keys administer the server' }],
  run: showAdminResult('ChangeAccount', call => ({
    ...accountOf(call),
    displayName: call.flag('name'),
    email: call.flag('email'),
    admin: call.flag('admin'),
  })),
})

const disable = onServer({
  name: 'account disable',
  summary: 'disable an account and its users: requests with their keys are refused',
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
  summary: 'enable a disabled account',
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
  summary: 'delete an account that has no users and no buckets, and its keys',
  examples: ['account delete 111111111111'],
  arguments: [ACCOUNT],
  run: runAdminCommand('DeleteAccount', accountOf, call => `account ${call.argument('ACCOUNT')} is deleted`),
})

export const accountCommands: readonly Command[] = [list, create, show, change, disable, enable, remove]
