/**
 * Makes the accounts that an accounts file names, or changes them to what it says. What it does not name stays as it
 * is, and what is as it says already is not written again.
 */
import { builtInAccount, canonicalIdOf } from '../../model/account.ts'
import { Fault } from '../../model/faults.ts'
import {
  type DeclaredAccount,
  type DeclaredKey,
  type DeclaredUser,
  InvalidAccountsFile,
} from '../../rules/accounts-file.ts'
import type { AccessKeyInfo, Accounts, KeyOwner } from './accounts.ts'

/** Undefined instead of the fault that says there is none. */
async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Fault && error.code === 'NoSuchEntity') return undefined
    throw error
  }
}

/** Everything that could be refused is refused before anything is changed. */
export async function applyAccounts(accounts: Accounts, given: readonly DeclaredAccount[]): Promise<void> {
  for (const account of given) await checkAgainst(accounts, account)
  for (const account of given) await apply(accounts, account)
}

async function checkAgainst(accounts: Accounts, given: DeclaredAccount): Promise<void> {
  const { accountId, canonicalId, users } = given
  const before = await ifThere(accounts.get(accountId))
  const wanted = canonicalId ?? before?.canonicalId ?? canonicalIdOf(accountId)
  if (before !== undefined && wanted !== before.canonicalId) {
    throw new InvalidAccountsFile(`account ${accountId} has another canonicalId already, and it never changes`)
  }
  const holder = await accounts.holderOf(wanted)
  if (holder !== undefined && holder !== accountId) {
    throw new InvalidAccountsFile(`the canonicalId of account ${accountId} is that of account ${holder}`)
  }
  if (builtInAccount(accountId)?.admin && given.admin === false) {
    throw new InvalidAccountsFile(`account ${accountId} is the root account and always an administrator`)
  }
  await checkKeys(accounts, given.accessKeys, { accountId, user: undefined })
  for (const user of users) await checkKeys(accounts, user.accessKeys, { accountId, user: user.name })
}

async function checkKeys(accounts: Accounts, keys: readonly DeclaredKey[], owner: KeyOwner): Promise<void> {
  for (const { accessKey } of keys) {
    const before = await ifThere(accounts.key(accessKey))
    if (before !== undefined && !belongsTo(before, owner)) {
      throw new InvalidAccountsFile(`access key ${accessKey} belongs to somebody else`)
    }
  }
}

const belongsTo = (key: AccessKeyInfo, { accountId, user }: KeyOwner): boolean =>
  key.accountId === accountId && key.user === user

async function apply(accounts: Accounts, given: DeclaredAccount): Promise<void> {
  const { accountId } = given
  const before = await ifThere(accounts.get(accountId))
  // Whoever leaves an account in the file that was deleted wants that one, and so with its users.
  if (before === undefined) await accounts.create({ ...given, again: true })
  else {
    const wanted = {
      displayName: given.displayName ?? before.displayName,
      email: given.email ?? before.email,
      admin: given.admin ?? before.admin,
    }
    const same =
      wanted.displayName === before.displayName && wanted.email === before.email && wanted.admin === before.admin
    if (!same) await accounts.change(accountId, wanted)
  }
  for (const key of given.accessKeys) await applyKey(accounts, key, { accountId, user: undefined })
  for (const user of given.users) await applyUser(accounts, accountId, user)
}

/** Names of policies that the file gave; those attached in other ways are not its business. */
const filePolicyName = (i: number): string => `accounts-file-${i + 1}`

async function applyUser(accounts: Accounts, accountId: string, given: DeclaredUser): Promise<void> {
  const { name } = given
  const user = (await ifThere(accounts.user(accountId, name))) ?? (await accounts.createUser(accountId, name, true))
  const before = user.policies.filter(policy => policy.fromFile).map(({ document }) => document)
  const same = before.length === given.policies.length && before.every((document, i) => document === given.policies[i])
  if (!same) {
    const wanted = given.policies.map((document, i) => ({ name: filePolicyName(i), document, fromFile: true }))
    await accounts.changeUser(accountId, name, ({ policies }) => ({
      policies: [...wanted, ...policies.filter(policy => !policy.fromFile)],
    }))
  }
  for (const key of given.accessKeys) await applyKey(accounts, key, { accountId, user: name })
}

/** A key that somebody disabled stays so: the file says what its secret is, not that it is good. */
async function applyKey(accounts: Accounts, { accessKey, secretKey }: DeclaredKey, owner: KeyOwner): Promise<void> {
  if ((await ifThere(accounts.key(accessKey))) === undefined) {
    await accounts.createKey({ accessKey, secretKey, ...owner })
  } else if (!(await accounts.hasSecret(accessKey, secretKey))) {
    await accounts.changeKey(accessKey, { secretKey })
  }
}
