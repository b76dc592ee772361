/** What belongs to a data folder as a whole and is done once at a start, before anybody serves from it. */

import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../model/account.ts'
import { Fault } from '../model/faults.ts'
import { DEFAULT_KEY_NAME } from '../model/version.ts'
import type { Others } from '../store/company.ts'
import type { Store } from '../store/store.ts'
import { accountsGiven, haveAccounts, rootKey } from './accounts.ts'
import { type FolderOptions, type OwnedFolder, openFolder } from './compose.ts'
import type { Config } from './config.ts'
import type { Tell } from './tell.ts'

const gapLine = (error: unknown): Readonly<Record<string, unknown>> => ({
  level: 'error',
  copy: `The journal of the metadata cannot be written (${String(error)}). The next snapshot makes up for it.`,
})

export function folderOptions({ data, durability, namedKeys, meta, blobs }: Config, tell: Tell): FolderOptions {
  return {
    onGap: error => tell.log(gapLine(error)),
    folder: data,
    durability,
    strictKeys: namedKeys.strict,
    ...(meta === undefined ? {} : { metaUrl: meta }),
    ...(blobs === undefined ? {} : { blobsFolder: blobs }),
  }
}

const KEYS_IN_CLEAR =
  'customer keys (SSE-C) are accepted over plain HTTP; --require-tls-for-customer-keys refuses them, --tls-cert helps'

export interface Prepared {
  readonly folder: OwnedFolder
  readonly rootKey: NonNullable<Config['rootKey']>
}

/** `others` are the processes that will serve from the folder beside this one. */
export async function prepare(config: Config, tell: Tell, others?: Others): Promise<Prepared> {
  const given = await accountsGiven(config)
  const folder = await openFolder({ ...folderOptions(config, tell), ...(others === undefined ? {} : { others }) })
  const { store } = folder
  try {
    const key = await rootKey(config, tell.once)
    await haveAccounts(store, given, config.accounts)
    await haveBuckets(store, config.buckets)
    const { have, strict } = config.namedKeys
    await store.engine.keyring.have(strict ? [DEFAULT_KEY_NAME, ...have] : have)
    if (config.tls === undefined && !config.tlsForCustomerKeys) tell.once(KEYS_IN_CLEAR)
    return { folder, rootKey: key }
  } catch (error) {
    await folder.close()
    throw error
  }
}

async function haveBuckets(store: Store, names: readonly string[]): Promise<void> {
  for (const name of names) await haveBucket(store, name)
}

/** The root account's. */
export async function haveBucket(store: Store, name: string, lockEnabled = false): Promise<void> {
  const owner = canonicalIdOf(ROOT_ACCOUNT_ID)
  try {
    await store.buckets.create({ name, owner, lockEnabled })
  } catch (error) {
    if (!(error instanceof Fault && error.code === 'BucketAlreadyOwnedByYou')) throw error
  }
}
