/**
 * Creates the accounts that an accounts file names, or updates them to match it. Accounts it does not name are left
 * alone, and unchanged ones are not written.
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

/** Undefined instead of a NoSuchEntity fault. */
async function ifExists<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof Fault && error.code === 'NoSuchEntity') return undefined
    throw error
  }
}

/** Another gateway that starts with the same file may create it first; then the second attempt finds it. */
async function orAgain<T>(findOrCreate: () => Promise<T>): Promise<T> {
  try {
    return await findOrCreate()
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'EntityAlreadyExists')) throw error
    return findOrCreate()
  }
}

/** Everything that can be rejected is rejected before anything is changed. */
export async function applyAccounts(accounts: Accounts, given: readonly DeclaredAccount[]): Promise<void> {
  for (const account of given) await checkAgainst(accounts, account)
  for (const account of given) await apply(accounts, account)
}

async function checkAgainst(accounts: Accounts, given: DeclaredAccount): Promise<void> {
  const { accountId, canonicalId, users } = given
  const before = await ifExists(accounts.get(accountId))
  const target = canonicalId ?? before?.canonicalId ?? canonicalIdOf(accountId)
  if (before !== undefined && target !== before.canonicalId) {
    throw new InvalidAccountsFile(`account ${accountId} has a different canonicalId, which cannot be changed`)
  }
  const holder = await accounts.holderOf(target)
  if (holder !== undefined && holder !== accountId) {
    throw new InvalidAccountsFile(`the canonicalId of account ${accountId} belongs to account ${holder}`)
  }
  if (builtInAccount(accountId)?.admin && given.admin === false) {
    throw new InvalidAccountsFile(`account ${accountId} is the root account and always an administrator`)
  }
  await checkKeys(accounts, given.accessKeys, { accountId, user: undefined })
  for (const user of users) await checkKeys(accounts, user.accessKeys, { accountId, user: user.name })
}

async function checkKeys(accounts: Accounts, keys: readonly DeclaredKey[], owner: KeyOwner): Promise<void> {
  for (const { accessKey } of keys) {
    const before = await ifExists(accounts.key(accessKey))
    if (before !== undefined && !belongsTo(before, owner)) {
      throw new InvalidAccountsFile(`access key ${accessKey} belongs to another account or user`)
    }
  }
}

const belongsTo = (key: AccessKeyInfo, { accountId, user }: KeyOwner): boolean =>
  key.accountId === accountId && key.user === user

async function apply(accounts: Accounts, given: DeclaredAccount): Promise<void> {
  const { accountId } = given
  await orAgain(() => applyAccount(accounts, given))
  for (const key of given.accessKeys) await applyKey(accounts, key, { accountId, user: undefined })
  for (const user of given.users) await applyUser(accounts, accountId, user)
}

async function applyAccount(accounts: Accounts, given: DeclaredAccount): Promise<void> {
  const { accountId } = given
  const before = await ifExists(accounts.get(accountId))
  // A deleted account that is still in the file is restored, and so are its users.
  if (before === undefined) await accounts.create({ ...given, again: true })
  else {
    const target = {
      displayName: given.displayName ?? before.displayName,
      email: given.email ?? before.email,
      admin: given.admin ?? before.admin,
    }
    const isUnchanged =
      target.displayName === before.displayName && target.email === before.email && target.admin === before.admin
    if (!isUnchanged) await accounts.change(accountId, target)
  }
}

/** Names of policies from the file; policies attached otherwise are left alone. */
const filePolicyName = (i: number): string => `accounts-file-${i + 1}`

async function applyUser(accounts: Accounts, accountId: string, given: DeclaredUser): Promise<void> {
  const { name } = given
  const user = await orAgain(
    async () => (await ifExists(accounts.user(accountId, name))) ?? accounts.createUser(accountId, name, true),
  )
  const before = user.policies.filter(policy => policy.fromFile).map(({ document }) => document)
  const isUnchanged =
    before.length === given.policies.length && before.every((document, i) => document === given.policies[i])
  if (!isUnchanged) {
    const target = given.policies.map((document, i) => ({ name: filePolicyName(i), document, fromFile: true }))
    await accounts.changeUser(accountId, name, ({ policies }) => ({
      policies: [...target, ...policies.filter(policy => !policy.fromFile)],
    }))
  }
  for (const key of given.accessKeys) await applyKey(accounts, key, { accountId, user: name })
}

/** A disabled key stays disabled: the file states its secret, not its status. */
function applyKey(accounts: Accounts, { accessKey, secretKey }: DeclaredKey, owner: KeyOwner): Promise<void> {
  return orAgain(async () => {
    if ((await ifExists(accounts.key(accessKey))) === undefined) {
      await accounts.createKey({ accessKey, secretKey, ...owner })
    } else if (!(await accounts.hasSecret(accessKey, secretKey))) {
      await accounts.changeKey(accessKey, { secretKey })
    }
  })
}
