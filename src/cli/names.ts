/** Names for completion, from a running server. Without a server there are none: the store is not opened. */
import { ACTIONS } from '../rules/access/actions.ts'
import { CANNED_NAMES, CANNED_POLICIES } from '../rules/access/canned-policies.ts'
import { adminAddressOf } from '../server/open-admin.ts'
import type { Admin } from './admin.ts'
import type { Invocation } from './command.ts'
import type { Before, Candidate, NamesOf } from './completion.ts'
import { adminAt, dataFolder } from './connect.ts'
import { pathExists } from './path-exists.ts'

type Row = Readonly<Record<string, unknown>>
type Where = Pick<Invocation, 'flag' | 'env' | 'progress'>
type Ask = (admin: Admin, before: Before) => Promise<readonly Candidate[]>

/** Keys are requested account by account while a person waits. */
const ACCOUNTS_MAX = 50

const named = (rows: unknown, word: string, summary: string): Candidate[] =>
  (rows as readonly Row[]).map(row => ({ word: String(row[word]), summary: String(row[summary] ?? '') }))

const accountOf = ({ positionals, flags }: Before): string | undefined =>
  positionals.get('ACCOUNT') ?? flags.get('account')

const accounts: Ask = async admin => named((await admin.ask('ListAccounts')).accounts, 'accountId', 'displayName')
const buckets: Ask = async admin => named((await admin.ask('ListBuckets')).buckets, 'name', 'owner')

const users: Ask = async (admin, before) => {
  const accountId = accountOf(before)
  return accountId === undefined ? [] : named((await admin.ask('ListUsers', { accountId })).users, 'name', '')
}

const keys: Ask = async (admin, before) => {
  const known = accountOf(before)
  const ids = known === undefined ? (await accounts(admin, before)).map(({ word }) => word) : [known]
  const results = await Promise.all(ids.slice(0, ACCOUNTS_MAX).map(accountId => admin.ask('ListKeys', { accountId })))
  return results.flatMap(({ keys: found }) => named(found, 'accessKey', 'user'))
}

const policies: Ask = async (admin, before) => {
  const [accountId, user] = [accountOf(before), before.positionals.get('USER')]
  if (accountId === undefined || user === undefined) return []
  return named((await admin.ask('GetUser', { accountId, user })).policies, 'name', '')
}

const encryptionKeys: Ask = async admin => named((await admin.ask('GetEncryption')).keys, 'name', '')

const ASKED: Readonly<Record<string, Ask>> = {
  ACCOUNT: accounts,
  BUCKET: buckets,
  'BUCKET[/KEY]': buckets,
  'FILE|BUCKET': buckets,
  USER: users,
  KEY: keys,
  POLICY: policies,
  NAME: encryptionKeys,
}

const actions = (): Candidate[] => Array.from(ACTIONS.keys(), action => ({ word: `s3:${action}`, summary: '' }))
const canned = (): Candidate[] => CANNED_NAMES.map(word => ({ word, summary: CANNED_POLICIES[word]!.meaning }))

/** Values known without a server. */
const OWN: Readonly<Record<string, () => readonly Candidate[]>> = { ACTION: actions, POLICY: canned }

async function runningServer(call: Where): Promise<Admin | undefined> {
  const endpoint = call.flag('endpoint')
  const folder = dataFolder(call)
  const address = endpoint ?? (pathExists(folder) ? await adminAddressOf(folder) : undefined)
  return address === undefined ? undefined : adminAt(call, new URL(address))
}

/** Errors are not shown while a person types: fewer names are offered. */
export function namesFor(call: (before: Before) => Where): NamesOf {
  return async (placeholder, before) => {
    const own = OWN[placeholder]?.() ?? []
    const ask = ASKED[placeholder]
    if (ask === undefined) return own
    const admin = await runningServer(call(before)).catch(() => undefined)
    const fetched = admin === undefined ? [] : await ask(admin, before).catch(() => [])
    return [...own, ...fetched.filter(({ word }) => own.every(one => one.word !== word))]
  }
}
