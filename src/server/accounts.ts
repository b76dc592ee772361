/** The accounts that the operator gives at the start: the root's key, and what the accounts file names. */
import { join } from 'node:path'
import { type Disk, realDisk } from '../lib/disk.ts'
import { systemRandom } from '../lib/random.ts'
import { Fault } from '../model/faults.ts'
import { type DeclaredAccount, InvalidAccountsFile, readAccountsFile } from '../rules/accounts-file.ts'
import { Accounts, generateAccessKey } from '../store/identity/accounts.ts'
import { applyAccounts } from '../store/identity/apply-accounts.ts'
import type { RootKey } from '../store/identity/identity-cache.ts'
import type { Store } from '../store/store.ts'
import { BadConfig } from './bad-config.ts'
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

/** Read before anything is opened, so that a file that is wrong has no effect. */
export async function accountsGiven(
  config: Pick<Config, 'accounts' | 'listen' | 'console'>,
): Promise<readonly DeclaredAccount[]> {
  const { accounts } = config
  if (accounts === undefined) return []
  const text = await readText(realDisk, accounts).catch((error: NodeJS.ErrnoException) => {
    throw new BadConfig(`--accounts: ${accounts} cannot be read (${error.code})`)
  })
  const given = await refusing(accounts, async () => readAccountsFile(text))
  if (isReachableFromOutside(config)) refuseWeak(accounts, given)
  return given
}

function refuseWeak(file: string, given: readonly DeclaredAccount[]): void {
  for (const key of given
    .flatMap(({ accessKeys, users }) => [accessKeys, ...users.map(one => one.accessKeys)])
    .flat()) {
    const weak = weakness(key)
    if (weak === undefined) continue
    throw new BadConfig(`${file}: the secret of access key ${key.accessKey} ${weak}: others can reach this address`)
  }
}

/** What the file names is there afterwards, at every start again. */
export function ensureAccounts(store: Store, given: readonly DeclaredAccount[], file = ''): Promise<void> {
  return refusing(file, () => applyAccounts(new Accounts(store.context), given))
}

async function refusing<T>(file: string, use: () => Promise<T>): Promise<T> {
  try {
    return await use()
  } catch (error) {
    if (error instanceof InvalidAccountsFile) throw new BadConfig(`${file}: ${error.message}`)
    if (error instanceof Fault) throw new BadConfig(`${file}: ${String(error.detail.reason ?? error.message)}`)
    throw error
  }
}

/** The key that an earlier start made; undefined when none has. */
export async function storedRootKey(folder: string): Promise<RootKey | undefined> {
  if (!(await realDisk.list(folder)).includes(ROOT_FILE)) return undefined
  const [accessKey = '', secretKey = ''] = (await readText(realDisk, join(folder, ROOT_FILE))).trim().split('\n')
  return { accessKey, secretKey }
}

/**
 * The root account's key: from the environment, else made at the first start, shown once and kept for the owner alone.
 */
export async function rootKey(
  config: Pick<Config, 'rootKey' | 'data' | 'memory'>,
  once: (line: string) => void,
): Promise<RootKey> {
  const known = config.rootKey ?? (config.memory ? undefined : await storedRootKey(config.data))
  if (known !== undefined) return known
  const made = generateAccessKey(systemRandom)
  const shown = `root access key ${made.accessKey}, secret key ${made.secretKey}`
  if (config.memory) {
    once(`${shown} (shown once, kept nowhere)`)
    return made
  }
  const path = join(config.data, ROOT_FILE)
  // Left by a start that was killed in this very place: nobody was told of it.
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
