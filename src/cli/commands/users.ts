import { CANNED_NAMES } from '../../rules/access/canned-policies.ts'
import { type Command, type Invocation, onServer } from '../command.ts'
import { escapeControls, facts, table } from '../output.ts'
import { rows, runAdminCommand, showAdminResult, type TableRow } from './requests.ts'

const ACCOUNT = { name: 'ACCOUNT', meaning: 'the account, 12 digits' }
const USER = { name: 'USER', meaning: 'name of the user' }
const POLICY = { name: 'POLICY', meaning: 'name of the policy' }

const userOf = (call: Invocation): TableRow => ({ accountId: call.argument('ACCOUNT'), user: call.argument('USER') })
const policiesOf = (user: TableRow): readonly TableRow[] => user.policies as readonly TableRow[]

function userText({ policies, ...rest }: TableRow): string {
  const named = policiesOf({ policies }).map(({ name, document }) => `policy ${name}  ${JSON.stringify(document)}`)
  return [facts(rest), ...named.map(escapeControls)].join('\n')
}

function listing(answer: TableRow): string {
  const named = (user: TableRow): string =>
    policiesOf(user)
      .map(({ name }) => name)
      .join(' ') || '-'
  const shown = rows(answer, 'users').map(user => ({ ...user, policies: named(user) }))
  return table(shown, ['name', 'policies', 'disabled', 'createdAt'])
}

const list = onServer({
  name: 'user list',
  summary: 'the users of an account',
  examples: ['user list 111111111111'],
  arguments: [ACCOUNT],
  run: showAdminResult('ListUsers', call => ({ accountId: call.argument('ACCOUNT') }), listing),
})

const create = onServer({
  name: 'user create',
  summary: 'make a user, who may do nothing until a policy allows it',
  examples: ['user create 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  flags: [{ name: 'again', meaning: 'it is the one that was deleted, with everything that still names it' }],
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
  summary: 'one user, with its policies',
  examples: ['user show 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: showAdminResult('GetUser', userOf, userText),
})

const disable = onServer({
  name: 'user disable',
  summary: 'its keys open nothing',
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
  summary: 'its keys open again',
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
  summary: 'delete a user with its keys',
  examples: ['user delete 111111111111 reader'],
  arguments: [ACCOUNT, USER],
  run: runAdminCommand('DeleteUser', userOf, call => `user ${call.argument('USER')} is deleted`),
})

const attach = onServer({
  name: 'user attach',
  summary: 'give a user a policy, or replace the one of this name',
  examples: [
    'user attach 111111111111 reader read-only',
    'user attach 111111111111 writer read-write --buckets photos,videos',
    'user attach 111111111111 reader mine policy.json',
  ],
  arguments: [
    ACCOUNT,
    USER,
    { name: 'POLICY', meaning: `name of the policy; ${CANNED_NAMES.join(', ')} need no file` },
    { name: 'FILE', meaning: 'the policy; - for standard input', optional: true },
  ],
  flags: [{ name: 'buckets', value: 'a,b', meaning: 'without a file: only these buckets' }],
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
  summary: 'take a policy from a user',
  examples: ['user detach 111111111111 reader read-only'],
  arguments: [ACCOUNT, USER, POLICY],
  run: showAdminResult('DetachPolicy', call => ({ ...userOf(call), policy: call.argument('POLICY') }), userText),
})

export const userCommands: readonly Command[] = [list, create, show, disable, enable, remove, attach, detach]
