import { CANNED_NAMES } from '../../rules/access/canned-policies.ts'
import { type Command, type Invocation, onServer } from '../command.ts'
import { escapeControls, facts, table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'account id, 12 digits' }
const USER = { name: 'USER', meaning: 'user name' }
const POLICY = { name: 'POLICY', meaning: 'policy name' }

const userOf = (call: Invocation): TableRow => ({ accountId: call.argument('ACCOUNT'), user: call.argument('USER') })
const policiesOf = (user: TableRow): readonly TableRow[] => user.policies as readonly TableRow[]

function userText({ policies, ...rest }: TableRow): string {
  const named = policiesOf({ policies }).map(({ name, document }) => `policy ${name}  ${JSON.stringify(document)}`)
  return [facts(rest), ...named.map(escapeControls)].join('\n')
}

function listing(result: TableRow): string {
  const named = (user: TableRow): string =>
    policiesOf(user)
      .map(({ name }) => name)
      .join(' ') || '-'
  const shown = rows(result, 'users').map(user => ({ ...user, policies: named(user) }))
  return table(shown, ['name', 'policies', 'disabled', 'createdAt'])
}

const list = onServer({
  name: 'user list',
  summary: 'list the users of an account',
  examples: ['user list 111111111111'],
  arguments: [ACCOUNT],
  run: showAdminResult('ListUsers', call => ({ accountId: call.argument('ACCOUNT') }), listing),
})

const create = onServer({
  name: 'user create',
  summary: 'create a user, who has no permissions until a policy is attached',
  examples: ['user create 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  flags: [{ name: 'again', meaning: 'recreate a deleted user; policies that name it apply again' }],
  run: showAdminResult(
    'CreateUser',
    call => ({
      accountId: call.argument('ACCOUNT'),
      name: call.argument('USER'),
      again: call.has('again') || undefined,
    }),
    userText,
  ),
})

const show = onServer({
  name: 'user show',
  summary: 'show a user and its policies',
  examples: ['user show 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: showAdminResult('GetUser', userOf, userText),
})

const disable = onServer({
  name: 'user disable',
  summary: 'disable a user: requests with its keys are refused',
  examples: ['user disable 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: runAdminCommand(
    'ChangeUser',
    call => ({ ...userOf(call), disabled: true }),
    call => `user ${call.argument('USER')} is disabled`,
  ),
})

const enable = onServer({
  name: 'user enable',
  summary: 'enable a disabled user',
  examples: ['user enable 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: runAdminCommand(
    'ChangeUser',
    call => ({ ...userOf(call), disabled: false }),
    call => `user ${call.argument('USER')} is enabled`,
  ),
})

const remove = onServer({
  name: 'user delete',
  summary: 'delete a user and its keys',
  examples: ['user delete 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: runAdminCommand('DeleteUser', userOf, call => `user ${call.argument('USER')} is deleted`),
})

const attach = onServer({
  name: 'user attach',
  summary: 'attach a policy to a user, or replace the one of this name',
  examples: [
    'user attach 111111111111 reader read-only',
    'user attach 111111111111 writer read-write --buckets photos,videos',
    'user attach 111111111111 reader mine policy.json',
  ],
  arguments: [
    ACCOUNT,
    USER,
    { name: 'POLICY', meaning: `policy name; ${CANNED_NAMES.join(', ')} need no file` },
    { name: 'FILE', meaning: 'policy document; - for standard input', optional: true },
  ],
  flags: [{ name: 'buckets', value: 'a,b', meaning: 'limit a policy without a file to these buckets' }],
  run: showAdminResult(
    'AttachPolicy',
    async call => {
      const file = call.maybeArgument('FILE')
      return {
        ...userOf(call),
        policy: call.argument('POLICY'),
        document: file === undefined ? undefined : await call.read(file),
        buckets: call.flag('buckets'),
      }
    },
    userText,
  ),
})

const detach = onServer({
  name: 'user detach',
  summary: 'detach a policy from a user',
  examples: ['user detach 111111111111 reader read-only'],
  arguments: [ACCOUNT, USER, POLICY],
  run: showAdminResult('DetachPolicy', call => ({ ...userOf(call), policy: call.argument('POLICY') }), userText),
})

export const userCommands: readonly Command[] = [list, create, show, disable, enable, remove, attach, detach]
