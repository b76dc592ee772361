/** Prepares a data folder once per start, before any process serves from it. */

import { hostname } from 'node:os'
import { RUNTIME } from '../lib/runtime.ts'
import { canonicalIdOf, ROOT_ACCOUNT_ID } from '../model/account.ts'
import { Fault, MetadataDamaged } from '../model/faults.ts'
import { DEFAULT_KEY_NAME } from '../model/version.ts'
import { NO_PEERS } from '../store/reclaim/reclamation-barrier.ts'
import type { Store } from '../store/store.ts'
import { labelled, type Sample } from '../telemetry/families.ts'
import { VERSION } from '../version.ts'
import { ensureAccounts, loadAccountsFile, refuseRootKey, rootKey } from './accounts.ts'
import { BadConfig } from './bad-config.ts'
import { isBlobsAddress } from './blob-driver.ts'
import { type FolderOptions, type OwnedFolder, openFolder, openMemory } from './compose.ts'
import type { Config } from './config.ts'
import type { MemberEvents } from './database-member.ts'
import { type FilesystemFacts, filesystemOf } from './filesystem.ts'
import type { Logger } from './log.ts'
import { checkSecrecy } from './secrecy.ts'

const gapLine = (error: unknown): Readonly<Record<string, unknown>> => ({
  level: 'error',
  copy: `The metadata journal cannot be written (${String(error)}). The next snapshot will include the changes.`,
})

export function folderOptions(config: Config, logger: Logger): FolderOptions {
  const { data, durability, namedKeys, meta, blobs, blobsFrom, cluster, listen } = config
  return {
    onGap: error => logger.log(gapLine(error)),
    onWait: line => logger.log({ level: 'warn', postgres: line }),
    folder: data,
    durability,
    strictKeys: namedKeys.strict,
    cluster,
    address: `${hostname()} ${listen.host}:${listen.port}`,
    ...(meta === undefined ? {} : { metaUrl: meta }),
    ...(blobs === undefined ? {} : { blobsPlace: blobs }),
    ...(blobsFrom === undefined ? {} : { blobsFrom }),
  }
}

const KEYS_IN_CLEAR =
  'customer keys (SSE-C) are accepted over plain HTTP; serve HTTPS, or use --require-tls-for-customer-keys'

/** The first log line of a start; configuration errors are reported before it. */
const startingLine = ({ data, memory, workers }: Config): Readonly<Record<string, unknown>> => ({
  level: 'info',
  message: 'starting',
  version: VERSION,
  runtime: RUNTIME,
  pid: process.pid,
  ...(memory ? { memory } : { data }),
  workers,
})

const MEMORY_WARNING = 'all data are in memory and are lost when this server stops (--memory)'

/** No other process can open a store in memory, and no worker can join it. */
async function openMemoryFolder(config: Config): Promise<OwnedFolder> {
  const parts = await openMemory({ strictKeys: config.namedKeys.strict })
  return { ...parts, incarnation: 0, admit: async () => {}, dismiss: async () => {} }
}

interface PreparedFolder {
  readonly folder: OwnedFolder
  readonly rootKey: NonNullable<Config['rootKey']>
  /** Samples that stay constant while the server runs. */
  readonly samples: readonly Sample[]
}

/** A server that has lost its membership commits nothing any more. */
const events = (logger: Logger): MemberEvents => ({
  onLost(error) {
    logger.log({ level: 'error', error: error.message })
    logger.abort()
  },
  onFailure: error => logger.log({ level: 'warn', error: `the membership could not be renewed: ${String(error)}` }),
  onReport: (level, message) => logger.log({ level, message }),
})

interface CheckedFolder extends FilesystemFacts {
  readonly name: 'data' | 'blobs'
  readonly folder: string
}

function checkedFolders({ data, blobs, meta, memory }: Config): CheckedFolder[] {
  if (memory) return []
  const holds = meta === undefined ? 'metadata' : 'bytes'
  const folders: CheckedFolder[] = [{ name: 'data', folder: data, ...filesystemOf(data, holds) }]
  if (blobs !== undefined && !isBlobsAddress(blobs)) {
    folders.push({ name: 'blobs', folder: blobs, ...filesystemOf(blobs, 'bytes') })
  }
  return folders
}

/** Unsafe filesystems cause warnings, and are refused only if the operator asks for it. */
function checkFilesystems(folders: readonly CheckedFolder[], { requireDurableFilesystem }: Config): readonly string[] {
  const lines = folders
    .filter(({ problems }) => problems.length > 0)
    .map(({ folder, problems }) => `${folder} is not on durable storage: ${problems.join('; ')}`)
  if (requireDurableFilesystem && lines[0] !== undefined) throw new Error(`${lines[0]} (--require-durable-filesystem)`)
  return lines
}

const sampleOf = ({ name, kind, problems }: CheckedFolder): Sample => [
  'holdfast_filesystem_unsafe',
  labelled({ folder: name, kind }),
  problems.length === 0 ? 0 : 1,
]

/** `others` are the worker processes that will serve from the folder. */
export async function prepare(config: Config, logger: Logger, others = NO_PEERS): Promise<PreparedFolder> {
  const given = await loadAccountsFile(config)
  const folders = checkedFolders(config)
  const warnings = [
    ...config.warnings,
    ...checkFilesystems(folders, config),
    ...(config.memory ? [] : await checkSecrecy(config.data)),
  ]
  logger.log(startingLine(config))
  for (const message of warnings) logger.log({ level: 'warn', message })
  if (config.memory) logger.log({ level: 'warn', message: MEMORY_WARNING })
  const folder = config.memory
    ? await openMemoryFolder(config)
    : await openFolder({ ...folderOptions(config, logger), others, membershipEvents: events(logger) })
  const { store } = folder
  try {
    const key = await rootKey(config, line => logger.notice(line), store.context.meta)
    refuseRootKey(given, key, config.accounts)
    await ensureAccounts(store, given, config.accounts)
    await ensureBuckets(store, config.buckets)
    const { have, strict } = config.namedKeys
    await store.context.keyring.have(strict ? [DEFAULT_KEY_NAME, ...have] : have)
    if (config.tls === undefined && !config.tlsForCustomerKeys) logger.log({ level: 'warn', message: KEYS_IN_CLEAR })
    return { folder, rootKey: key, samples: folders.map(sampleOf) }
  } catch (error) {
    await folder.close()
    throw error
  }
}

async function ensureBuckets(store: Store, names: readonly string[]): Promise<void> {
  for (const name of names) {
    await ensureBucket(store, name).catch((error: unknown) => {
      const isTaken = error instanceof Fault && error.code === 'BucketAlreadyExists'
      throw isTaken ? new BadConfig(`--buckets: ${name} is a bucket of another account`) : error
    })
  }
}

/** Creates a bucket of the root account if it does not exist. */
export async function ensureBucket(store: Store, name: string, lockEnabled = false): Promise<void> {
  const owner = canonicalIdOf(ROOT_ACCOUNT_ID)
  try {
    await store.buckets.create({ name, owner, lockEnabled })
  } catch (error) {
    // A bucket whose record is lost exists as well, and every request for it reports that.
    if (error instanceof MetadataDamaged) return
    if (!(error instanceof Fault && error.code === 'BucketAlreadyOwnedByYou')) throw error
  }
}
