import { type Command, type Invocation, onServer } from '../command.ts'
import { table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'the account, 12 digits' }
const KEY = { name: 'KEY', meaning: 'the access key' }

const keyOf = (call: Invocation): TableRow => ({ accessKey: call.argument('KEY') })

const list = onServer({
  name: 'key list',
  summary: 'the keys of an account and its users; never their secrets',
  examples: ['key list 111111111111', 'key list 111111111111 --user reader'],
  arguments: [ACCOUNT],
  flags: [{ name: 'user', value: 'USER', meaning: 'only the keys of this user' }],
  run: showAdminResult(
    'ListKeys',
    call => ({ accountId: call.argument('ACCOUNT'), user: call.flag('user') }),
    answer => table(rows(answer, 'keys'), ['accessKey', 'user', 'disabled', 'createdAt']),
  ),
})

const create = onServer({
  name: 'key create',
  summary: 'make a key; its secret is shown once, now',
  examples: ['key create 111111111111', 'key create 111111111111 --user reader'],
  arguments: [ACCOUNT],
  flags: [
    { name: 'user', value: 'USER', meaning: 'whose key it is; the account itself without' },
    { name: 'access-key', value: 'KEY', meaning: 'its name; made without' },
  ],
  run: showAdminResult('CreateKey', call => ({
    accountId: call.argument('ACCOUNT'),
    user: call.flag('user'),
    accessKey: call.flag('access-key'),
  })),
})

const show = onServer({
  name: 'key show',
  summary: 'whose a key is, and whether it is good',
  examples: ['key show HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: showAdminResult('GetKey', keyOf),
})

const disable = onServer({
  name: 'key disable',
  summary: 'the key opens nothing',
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
  summary: 'the key opens again',
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
  summary: 'delete a key',
  examples: ['key delete HF0123456789ABCDEF01'],
  arguments: [KEY],
  run: runAdminCommand('DeleteKey', keyOf, call => `key ${call.argument('KEY')} is deleted`),
})

export const keyCommands: readonly Command[] = [list, create, show, disable, enable, remove]
