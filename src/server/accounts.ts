/** The accounts that the operator configures: the root key and the accounts file. */
import { join } from 'node:path'
import { type Disk, realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import type { Meta } from '../meta/meta.ts'
import { ROOT_ACCOUNT_ID } from '../model/account.ts'
import { Fault } from '../model/faults.ts'
import { type DeclaredAccount, InvalidAccountsFile, readAccountsFile } from '../rules/accounts-file.ts'
import { Accounts, generateAccessKey } from '../store/identity/accounts.ts'
import { applyAccounts } from '../store/identity/apply-accounts.ts'
import type { RootKey } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import { BadConfig } from './bad-config.ts'
import { clusterRootKey } from './cluster-keyring.ts'
import type { Config } from './config.ts'
import { isReachableFromOutside, weakness } from './root-key.ts'

export const ROOT_FILE = 'root-key'

export async function readText(disk: Disk, path: string): Promise<string> {
  const file = await disk.open(path, 'read')
  try {
    const bytes = Buffer.alloc(await file.size())
    await file.read([bytes], 0)
    return bytes.toString('utf8')
  } finally {
    await file.close()
  }
}

/** Reads the accounts file before anything is opened, so that an invalid file has no effect. */
export async function loadAccountsFile(
  config: Pick<Config, 'accounts' | 'listen' | 'console'>,
): Promise<readonly DeclaredAccount[]> {
  const { accounts } = config
  if (accounts === undefined) return []
  const text = await readText(realDisk, accounts).catch((error: NodeJS.ErrnoException) => {
    throw new BadConfig(`--accounts: ${accounts} cannot be read (${error.code})`)
  })
  const given = await asBadConfig(accounts, async () => readAccountsFile(text))
  if (isReachableFromOutside(config)) refuseWeakSecrets(accounts, given)
  return given
}

function refuseWeakSecrets(file: string, given: readonly DeclaredAccount[]): void {
  for (const key of given
    .flatMap(({ accessKeys, users }) => [accessKeys, ...users.map(one => one.accessKeys)])
    .flat()) {
    const weak = weakness(key)
    if (weak === undefined) continue
    throw new BadConfig(`${file}: the secret of access key ${key.accessKey} ${weak}: others can reach this address`)
  }
}

/** The root key is looked up before all others: a user with a key of its name and secret would be the root account. */
export function refuseRootKey(given: readonly DeclaredAccount[], root: RootKey, file = ''): void {
  for (const { accountId, accessKeys, users } of given) {
    const isRoot = accountId === ROOT_ACCOUNT_ID
    const others = isRoot ? accessKeys.filter(({ secretKey }) => secretKey !== root.secretKey) : accessKeys
    const keys = [...others, ...users.flatMap(user => user.accessKeys)]
    if (!keys.some(({ accessKey }) => accessKey === root.accessKey)) continue
    throw new BadConfig(`${file}: accounts: access key ${root.accessKey} of account ${accountId} is the root key`)
  }
}

/** Applies the declared accounts; idempotent, at every start. */
export function ensureAccounts(store: Store, given: readonly DeclaredAccount[], file = ''): Promise<void> {
  return asBadConfig(file, () => applyAccounts(new Accounts(store.context), given))
}

async function asBadConfig<T>(file: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof InvalidAccountsFile) throw new BadConfig(`${file}: ${error.message}`)
    if (error instanceof Fault) throw new BadConfig(`${file}: ${String(error.detail.reason ?? error.message)}`)
    throw error
  }
}

/** The root key that an earlier start generated; undefined when there is none. */
export async function storedRootKey(folder: string): Promise<RootKey | undefined> {
  if (!(await realDisk.list(folder)).includes(ROOT_FILE)) return undefined
  const [accessKey = '', secretKey = ''] = (await readText(realDisk, join(folder, ROOT_FILE))).trim().split('\n')
  return { accessKey, secretKey }
}

/**
 * The root account's key: from the environment, else generated at the first start, shown once and stored readable by
 * the owner alone.
 */
export async function rootKey(
  config: Pick<Config, 'rootKey' | 'data' | 'memory' | 'cluster'>,
  once: (line: string) => void,
  meta: Meta,
): Promise<RootKey> {
  if (config.rootKey === undefined && config.cluster !== undefined) {
    return clusterRootKey(meta, config.cluster, () => {
      const made = generateAccessKey(systemRandom)
      once(`root access key ${made.accessKey}, secret key ${made.secretKey} (shown once, stored encrypted)`)
      return made
    })
  }
  const known = config.rootKey ?? (config.memory ? undefined : await storedRootKey(config.data))
  if (known !== undefined) return known
  const made = generateAccessKey(systemRandom)
  const shown = `root access key ${made.accessKey}, secret key ${made.secretKey}`
  if (config.memory) {
    once(`${shown} (shown once, kept nowhere)`)
    return made
  }
  const path = join(config.data, ROOT_FILE)
  // Left by a start that was killed here, before the key was shown.
  await realDisk.remove(`${path}.new`)
  const file = await realDisk.open(`${path}.new`, 'create')
  await file.write([Buffer.from(`${made.accessKey}\n${made.secretKey}\n`)], 0)
  await file.datasync()
  await file.close()
  await realDisk.rename(`${path}.new`, path)
  await realDisk.syncFolder(config.data)
  once(`${shown} (shown once, kept in ${path})`)
  return made
}
