import { type Command, type Invocation, onServer } from '../command.ts'
import { table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'account id, 12 digits' }
const KEY = { name: 'KEY', meaning: 'access key' }

const keyOf = (call: Invocation): TableRow => ({ accessKey: call.argument('KEY') })

const list = onServer({
  name: 'key list',
  summary: 'list the access keys of an account and its users, without secrets',
  examples: ['key list 111111111111', 'key list 111111111111 --user reader'],
  arguments: [ACCOUNT],
  flags: [{ name: 'user', value: 'USER', meaning: 'only the keys of this user' }],
  run: showAdminResult(
    'ListKeys',
    call => ({ accountId: call.argument('ACCOUNT'), user: call.flag('user') }),
    result => table(rows(result, 'keys'), ['accessKey', 'user', 'disabled', 'createdAt']),
  ),
})

const create = onServer({
  name: 'key create',
  summary: 'create an access key; its secret is shown only once',
  examples: ['key create 111111111111', 'key create 111111111111 --user reader'],
  arguments: [ACCOUNT],
  flags: [
    { name: 'user', value: 'USER', meaning: 'user that owns the key; the account itself if omitted' },
    { name: 'access-key', value: 'KEY', meaning: 'access key; generated if omitted' },
  ],
  run: showAdminResult('CreateKey', call => ({
    accountId: call.argument('ACCOUNT'),
    user: call.flag('user'),
    accessKey: call.flag('access-key'),
  })),
})

const show = onServer({
  name: 'key show',
  summary: 'show the owner and the state of an access key',
  examples: ['key show HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: showAdminResult('GetKey', keyOf),
})

const disable = onServer({
  name: 'key disable',
  summary: 'disable an access key: requests with it are refused',
  examples: ['key disable HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: runAdminCommand(
    'ChangeKey',
    call => ({ ...keyOf(call), disabled: true }),
    call => `key ${call.argument('KEY')} is disabled`,
  ),
})

const enable = onServer({
  name: 'key enable',
  summary: 'enable a disabled access key',
  examples: ['key enable HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: runAdminCommand(
    'ChangeKey',
    call => ({ ...keyOf(call), disabled: false }),
    call => `key ${call.argument('KEY')} is enabled`,
  ),
})

const remove = onServer({
  name: 'key delete',
  summary: 'delete an access key',
  examples: ['key delete HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: runAdminCommand('DeleteKey', keyOf, call => `key ${call.argument('KEY')} is deleted`),
})

export const keyCommands: readonly Command[] = [list, create, show, disable, enable, remove]
